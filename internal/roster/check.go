package roster

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Check returns an [ErrInvalid] for a roster that no sequence of commands produces. Every member
// checks a roster that it reads. [Roster.Apply] checks the parts that a command has changed, so no
// command leads to a roster that a member rejects.
func (r *Roster) Check() error { return r.checkSince(&Roster{}) }

// checkSince checks r, except for the parts that it shares with an earlier roster.
func (r *Roster) checkSince(before *Roster) error {
	if !r.Formed() {
		return r.checkUnformed()
	}
	if err := r.checkNumbers(); err != nil {
		return err
	}
	isSame := isShared(before.Members, r.Members)
	if !isSame {
		if err := checkMembers(r.Members); err != nil {
			return err
		}
	}
	for i, u := range r.Unsettled {
		if _, found := r.Member(u); !found || i > 0 && r.Unsettled[i-1] >= u {
			return invalidf("unsettled %.40q is not a member, or out of order", string(u))
		}
	}
	if !isShared(before.Keepers, r.Keepers) {
		if err := CheckKeepers(r.Keepers); err != nil {
			return err
		}
	}
	if fault := r.SetsFault(before.Registry); fault != "" {
		return invalidf("%s", fault)
	}
	if !isShared(before.Quotas, r.Quotas) {
		if err := CheckQuotas(r.Quotas); err != nil {
			return err
		}
	}
	if r.Recovered != before.Recovered {
		if err := checkRecovery(r.Recovered, len(r.Partitions)); err != nil {
			return err
		}
	}
	if isSame && isShared(before.Partitions, r.Partitions) {
		return nil
	}
	for id, p := range r.Partitions {
		if err := r.checkPartition(p); err != nil {
			return fmt.Errorf("partition %d: %w", id, err)
		}
	}
	return nil
}

// isShared reports whether two slices have the same backing array and length.
func isShared[T any](a, b []T) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// checkNumbers checks the scalar parts of a roster.
func (r *Roster) checkNumbers() error {
	switch {
	case r.Grid.IsZero():
		return invalidf("it has no grid ID")
	case r.Version > maxVersion:
		return invalidf("version %d is not from 1 to %d", r.Version, uint64(maxVersion))
	// an anchor may hold the ceiling back
	case r.Time < 0 || r.Ceiling < 0 || r.Ceiling > clustertime.Latest || r.Time > r.Ceiling && r.Claim == "":
		return invalidf("time %d or ceiling %d is out of range, or the time is above the ceiling", r.Time, r.Ceiling)
	case r.Began < 0 || r.Began > r.Ceiling:
		return invalidf("its start, %d, is not from 0 to the ceiling, %d", r.Began, r.Ceiling)
	case r.Stopped < 0 || r.Stopped > r.Ceiling:
		return invalidf("its stop, %d, is not from 0 to the ceiling, %d", r.Stopped, r.Ceiling)
	case r.Protocol < 0 || r.Protocol == Protocol1 || r.Protocol > CurrentProtocol:
		return invalidf("protocol %d is not from %d to %d, or 0 for %d", r.Protocol, OldestProtocol+1,
			CurrentProtocol, Protocol1)
	case len(r.Partitions) != r.Settings.Partitions:
		return invalidf("it has %d partitions, but its settings have %d", len(r.Partitions), r.Settings.Partitions)
	case r.Claim != "" && !r.Anchored:
		return invalidf("it has a claim but no anchor")
	}
	if r.Claim != "" {
		if err := r.Claim.Check(); err != nil {
			return err
		}
	}
	return r.Settings.Check()
}

// maxVersion is far below the type's maximum, so that versions cannot wrap around.
const maxVersion = 1 << 62

// checkUnformed requires the zero roster.
func (r *Roster) checkUnformed() error {
	if !r.Grid.IsZero() || r.Ceiling != 0 || r.Time != 0 || r.Began != 0 || r.KeepsLog || r.Stopped != 0 ||
		len(r.Unsettled) > 0 || r.Claim != "" || r.Anchored || r.Restarted || r.Protocol != 0 || r.Settings != (Settings{}) ||
		len(r.Members) > 0 || len(r.Partitions) > 0 || r.HasSets() || len(r.Quotas) > 0 ||
		len(r.Keepers) > 0 || r.Recovered != nil {
		return invalidf("it has no version but is not empty")
	}
	return nil
}

func checkMembers(members []Member) error {
	for i, m := range members {
		if err := m.Check(); err != nil {
			return err
		}
		// Incarnations begin with the member ID, so two incarnations of a member are adjacent.
		if i > 0 && cmp.Compare(members[i-1].Incarnation.Member(), m.Incarnation.Member()) >= 0 {
			return invalidf("member %s is a duplicate or out of order", m.Incarnation)
		}
	}
	return nil
}

func (r *Roster) checkPartition(p Partition) error {
	switch {
	case p.Term > Term(r.Version) || p.LostTerm > p.Term:
		return invalidf("version %d, term %d and lost term %d are inconsistent", r.Version, p.Term, p.LostTerm)
	case p.Floor < 0 || p.Floor > r.Ceiling:
		return invalidf("floor %d is not between 0 and the ceiling %d", p.Floor, r.Ceiling)
	case p.Owner == "" && (len(p.InSync) > 0 || p.Joining != ""):
		return invalidf("it has replicas but no owner")
	case p.Owner == "" && (p.Term != p.LostTerm || p.Term != 0 && r.Claim == ""):
		return invalidf("it has a term but no owner, and no claim was reset")
	case p.Owner != "" && (p.Term == 0 || !slices.Contains(p.InSync, p.Owner)):
		return invalidf("owner %.40q has no term or is not in sync", string(p.Owner))
	}
	if _, found := r.Member(p.Joining); p.Joining != "" && (!found || slices.Contains(p.InSync, p.Joining)) {
		return invalidf("joining replica %.40q is not a member, or in sync", string(p.Joining))
	}
	if err := checkDisks(p.Disk); err != nil {
		return err
	}
	for i, replica := range p.InSync {
		if _, found := r.Member(replica); !found {
			return invalidf("replica %.40q is not a member", string(replica))
		}
		if i > 0 && p.InSync[i-1] >= replica {
			return invalidf("replica %s is a duplicate or out of order", replica)
		}
	}
	return nil
}

// checkDisks requires member IDs in order; the members need not be in the roster.
func checkDisks(disks []MemberID) error {
	for i, id := range disks {
		if err := id.Check(); err != nil {
			return err
		}
		if i > 0 && disks[i-1] >= id {
			return invalidf("the disk of member %s is a duplicate or out of order", id)
		}
	}
	return nil
}

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
