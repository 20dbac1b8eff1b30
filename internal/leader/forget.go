package leader

import (
	"errors"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A disk that never comes back is given up by an operator (D10), and only while its
// member does not run: otherwise the disk can be asked.

// forgetTries bounds how often the leader proposes again because the roster changed.
const forgetTries = 10

// ForgetRequest asks to give up a member's disk.
type ForgetRequest struct {
	Disk            roster.MemberID
	LoseDefinitions bool // also where it is the last disk with the definitions of a partition
}

// Forgotten is the outcome of a disk that was given up.
type Forgotten struct {
	Partitions int // that rested on it
	Lost       int // of them, those that rested on no other
}

// forget is a request of an operator until it is answered.
type forget struct {
	in    ForgetRequest
	out   Forgotten
	reply func(Forgotten, error)
	tries int
	round uint64 // of the probe of the disk's member, 0 for none
	// proposed says that the change that is proposed is this one.
	proposed bool
}

// ForgetDisk gives up a member's disk: no partition waits for it any longer.
func (l *Leader) ForgetDisk(v View, in ForgetRequest, reply func(Forgotten, error)) {
	l.forgets = append(l.forgets, &forget{in: in, reply: reply})
	l.proposeForget(v)
}

// proposeForget proposes the first request that is due, unless a change is proposed.
func (l *Leader) proposeForget(v View) {
	for _, f := range slices.Clone(l.forgets) {
		if l.changing || f.round > 0 {
			continue
		}
		if err := l.checkForget(v, f); err != nil {
			l.forgot(f, err)
		} else if f.round == 0 {
			f.proposed = true
			l.propose(roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim, Change: &roster.Change{Forget: []roster.MemberID{f.in.Disk}}})
		}
	}
}

// continueForgets takes the outcome of a change, and proposes the next.
func (l *Leader) continueForgets(v View, c roster.Command, err error) {
	i := slices.IndexFunc(l.forgets, func(f *forget) bool { return f.proposed })
	if i >= 0 && c.Change != nil && len(c.Change.Forget) > 0 {
		switch f := l.forgets[i]; {
		case errors.Is(err, roster.ErrStale) && f.tries < forgetTries:
			f.proposed = false
			f.tries++
		case err != nil:
			l.forgot(f, failure.Errorf(ErrUnavailable, "grid: the disk of %s was not forgotten: %w", f.in.Disk, err))
		default:
			l.forgot(f, nil)
		}
	}
	l.proposeForget(v)
}

// forgot answers a request.
func (l *Leader) forgot(f *forget, err error) {
	l.forgets = slices.DeleteFunc(l.forgets, func(other *forget) bool { return other == f })
	if err != nil {
		f.out = Forgotten{}
	}
	f.reply(f.out, err)
}

// checkForget returns why a disk is not given up. If its member is in the roster, it
// probes that first.
func (l *Leader) checkForget(v View, f *forget) error {
	id := f.in.Disk
	if !l.claims(v.Roster) {
		return failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: %w", id, errUnclaimed)
	}
	if id == l.self.Member() {
		return failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: its member is running, and gave this answer", id)
	}
	for _, p := range v.Peers {
		if p.Incarnation.Member() == id {
			return failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: its member is running at %s (seen by gossip); a disk is forgotten only after its member is gone for good", id, p.API)
		}
	}
	if m, found := registered(v.Roster, id); found {
		l.inquiry.rounds++
		f.round = l.inquiry.rounds
		l.probe(v, m.Incarnation, m.API, forForget, f.round)
		return nil
	}
	f.out.Partitions, f.out.Lost = v.Roster.Awaits(id)
	switch {
	case f.out.Partitions == 0:
		return failure.Errorf(ErrNotNeeded, "grid: no partition depends on the disk of %s; %s", id, namedDisks(v.Roster))
	case f.out.Lost > 0 && !f.in.LoseDefinitions:
		return failure.Errorf(ErrNotConfirmed, "grid: nothing was done: the disk of %s is the last one with the definitions of %d partitions, and forgetting it loses them for good. %s. "+
			"If the disk can be restored, start the member on it instead; to lose the definitions, confirm with --lose-definitions", id, f.out.Lost, lossText)
	}
	return nil
}

// forgetProbed answers the request about a disk whose member is in the roster.
func (l *Leader) forgetProbed(v View, p Probe, err error) {
	i := slices.IndexFunc(l.forgets, func(f *forget) bool { return f.round == p.round })
	if i < 0 {
		return
	}
	f, id := l.forgets[i], p.To.Member()
	if err == nil {
		l.forgot(f, failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: its member answers at %s; a disk is forgotten only after its member is gone for good", id, p.API))
	} else {
		l.forgot(f, failure.Errorf(ErrUnavailable, "grid: member %s does not answer and is still in the roster; it is removed within seconds, try again then", id))
	}
	l.proposeForget(v)
}

// lossText describes the loss of the last disk of a partition.
const lossText = "Only sequencers that a running process uses are then still known. " +
	"For all others the grid forgets that they exist, that they were destroyed, and their epoch: " +
	"a name that is created again with another epoch or node count can repeat earlier IDs"

// namedDisks says which disks partitions rest on.
func namedDisks(r *roster.Roster) string {
	var out []string
	for _, p := range r.Partitions {
		for _, id := range p.Disk {
			if !slices.Contains(out, string(id)) {
				out = append(out, string(id))
			}
		}
	}
	if len(out) == 0 {
		return "this grid keeps nothing on disk yet"
	}
	slices.Sort(out)
	return "they rest on the disks of " + strings.Join(out, ", ")
}
