package wire

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/roster"
)

func checkRoster(r *roster.Roster) error {
	if !r.Formed() {
		return checkUnformed(r)
	}
	switch {
	case r.Grid.IsZero():
		return errors.New("it has no grid ID")
	case r.Time < 0 || r.Ceiling < 0 || r.Ceiling > clustertime.Latest || r.Time > r.Ceiling && r.Claim == "": // an anchor may hold the ceiling back
		return fmt.Errorf("its time is %d and its ceiling %d", r.Time, r.Ceiling)
	case r.Began < 0 || r.Began > r.Ceiling:
		return fmt.Errorf("it began at %d and its ceiling is %d", r.Began, r.Ceiling)
	case r.Stopped < 0 || r.Stopped > r.Ceiling:
		return fmt.Errorf("it stopped at %d and its ceiling is %d", r.Stopped, r.Ceiling)
	case r.Protocol < 0 || r.Protocol == roster.Protocol1 || r.Protocol > roster.CurrentProtocol:
		return fmt.Errorf("its protocol is %d, and there are %d to %d, and 0 for %d", r.Protocol, roster.Protocol2, roster.CurrentProtocol, roster.Protocol1)
	case len(r.Partitions) != r.Settings.Partitions:
		return fmt.Errorf("it has %d partitions and its settings say %d", len(r.Partitions), r.Settings.Partitions)
	}
	if err := r.Settings.Check(); err != nil {
		return err
	}
	if r.Claim != "" {
		if !r.Anchored {
			return errors.New("it has a claim and no anchor")
		}
		if err := r.Claim.Check(); err != nil {
			return err
		}
	}
	if err := checkMembers(r.Members); err != nil {
		return err
	}
	for i, u := range r.Unsettled {
		if _, found := r.Member(u); !found || i > 0 && r.Unsettled[i-1] >= u {
			return fmt.Errorf("unsettled %.40q is not a member, or out of order", string(u))
		}
	}
	if err := roster.CheckSets(r.Sets); err != nil {
		return err
	}
	if err := roster.CheckQuotas(r.Quotas); err != nil {
		return err
	}
	if err := roster.CheckRecovery(r.Recovered, len(r.Partitions)); err != nil {
		return err
	}
	for id, p := range r.Partitions {
		if err := checkPartition(r, p); err != nil {
			return fmt.Errorf("partition %d: %w", id, err)
		}
	}
	return nil
}

// checkUnformed wants the zero roster.
func checkUnformed(r *roster.Roster) error {
	if !r.Grid.IsZero() || r.Ceiling != 0 || r.Time != 0 || r.Began != 0 || r.KeepsLog || r.Stopped != 0 || len(r.Unsettled) > 0 || r.Claim != "" || r.Anchored || r.Restarted || r.Protocol != 0 || r.Settings != (roster.Settings{}) ||
		len(r.Members) > 0 || len(r.Partitions) > 0 || len(r.Sets) > 0 || len(r.Quotas) > 0 || r.Recovered != nil {
		return errors.New("it has no version and is not empty")
	}
	return nil
}

func checkMembers(members []roster.Member) error {
	for i, m := range members {
		if err := m.Check(); err != nil {
			return err
		}
		// Incarnations begin with the member ID, so two of one member are neighbours.
		if i > 0 && cmp.Compare(members[i-1].Incarnation.Member(), m.Incarnation.Member()) >= 0 {
			return fmt.Errorf("member %s is out of order or there twice", m.Incarnation)
		}
	}
	return nil
}

func checkPartition(r *roster.Roster, p roster.Partition) error {
	switch {
	case p.Term > roster.Term(r.Version) || p.LostTerm > p.Term:
		return fmt.Errorf("version %d, term %d and lost term %d do not go together", r.Version, p.Term, p.LostTerm)
	case p.Floor < 0 || p.Floor > r.Ceiling:
		return fmt.Errorf("floor %d is not between 0 and the ceiling %d", p.Floor, r.Ceiling)
	case p.Owner == "" && (len(p.InSync) > 0 || p.Joining != ""):
		return errors.New("it has replicas and no owner")
	case p.Owner == "" && (p.Term != p.LostTerm || p.Term != 0 && r.Claim == ""):
		return errors.New("it has a term and no owner, and no claim was reset")
	case p.Owner != "" && (p.Term == 0 || !slices.Contains(p.InSync, p.Owner)):
		return fmt.Errorf("owner %.40q has no term or is not in sync", string(p.Owner))
	}
	if _, found := r.Member(p.Joining); p.Joining != "" && (!found || slices.Contains(p.InSync, p.Joining)) {
		return fmt.Errorf("joining replica %.40q is not a member, or in sync", string(p.Joining))
	}
	if err := checkDisks(p.Disk); err != nil {
		return err
	}
	for i, replica := range p.InSync {
		if _, found := r.Member(replica); !found {
			return fmt.Errorf("replica %.40q is not a member", string(replica))
		}
		if i > 0 && p.InSync[i-1] >= replica {
			return fmt.Errorf("replica %s is out of order or there twice", replica)
		}
	}
	return nil
}

// checkDisks wants member IDs in order; the members need not be in the roster.
func checkDisks(disks []roster.MemberID) error {
	for i, id := range disks {
		if err := id.Check(); err != nil {
			return err
		}
		if i > 0 && disks[i-1] >= id {
			return fmt.Errorf("the disk of member %s is out of order or there twice", id)
		}
	}
	return nil
}
