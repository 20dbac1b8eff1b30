package leader

import (
	"errors"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// An operator gives up a disk that never comes back (D10). Its member must not run: otherwise it
// can still hand over its definitions.

// forgetTries bounds the proposals of one request after changes of the roster.
const forgetTries = 10

// ForgetRequest is a request to give up a member's disk.
type ForgetRequest struct {
	Disk            roster.MemberID
	LoseDefinitions bool // even if it is the last disk with the definitions of a partition
}

// Forgotten is the result of a [ForgetRequest].
type Forgotten struct {
	Partitions int // that depended on the disk
	Lost       int // without another disk
}

// forget is a request without an answer.
type forget struct {
	in       ForgetRequest
	out      Forgotten
	reply    func(Forgotten, error)
	tries    int
	round    uint64 // of the probe of the disk's member, 0 for none
	proposed bool   // its change is the proposed one
}

// forgets gives up the disks of members at an operator's request.
type forgets struct {
	self     roster.Incarnation
	claimant *anchoring
	changes  *changes
	out      Member

	open   []*forget
	rounds uint64 // of probes
}

// propose proposes the first request that is due, unless a change is proposed.
func (x *forgets) propose(v View) {
	for _, f := range slices.Clone(x.open) {
		if x.changes.pending || f.round > 0 {
			continue
		}
		if err := x.check(v, f); err != nil {
			x.answer(f, err)
		} else if f.round == 0 {
			f.proposed = true
			x.changes.propose(roster.Command{From: v.Roster.Version, Claim: v.Roster.Claim,
				Change: &roster.Change{Forget: []roster.MemberID{f.in.Disk}}})
		}
	}
}

// proposed records the outcome of a change, and proposes the next.
func (x *forgets) proposed(v View, c roster.Command, err error) {
	i := slices.IndexFunc(x.open, func(f *forget) bool { return f.proposed })
	if i >= 0 && c.Change != nil && len(c.Change.Forget) > 0 {
		switch f := x.open[i]; {
		case errors.Is(err, roster.ErrStale) && f.tries < forgetTries:
			f.proposed = false
			f.tries++
		case err != nil:
			x.answer(f, failure.Errorf(ErrUnavailable, "grid: the disk of %s was not forgotten: %w", f.in.Disk, err))
		default:
			x.answer(f, nil)
		}
	}
	x.propose(v)
}

func (x *forgets) answer(f *forget, err error) {
	x.open = slices.DeleteFunc(x.open, func(other *forget) bool { return other == f })
	if err != nil {
		f.out = Forgotten{}
	}
	f.reply(f.out, err)
}

// check returns an error if a disk must not be given up. If its member is in the roster, it probes
// the member first.
func (x *forgets) check(v View, f *forget) error {
	id := f.in.Disk
	if !x.claimant.claims(v.Roster) {
		return failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: %w", id, errUnclaimed)
	}
	if id == x.self.Member() {
		return failure.Errorf(ErrNotNow,
			"grid: the disk of %s was not forgotten: its member is running, and gave this answer", id)
	}
	for _, p := range v.Peers {
		if p.Incarnation.Member() == id {
			return failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: its member is running at %s (seen by "+
				"gossip); a disk is forgotten only after its member is gone for good", id, p.API)
		}
	}
	if m, found := registered(v.Roster, id); found {
		x.rounds++
		f.round = x.rounds
		x.out.Probe(newProbe(v.Mono, m.Incarnation, m.API, forForget, f.round))
		return nil
	}
	f.out.Partitions, f.out.Lost = v.Roster.Awaits(id)
	switch {
	case f.out.Partitions == 0:
		return failure.Errorf(ErrNotNeeded, "grid: no partition depends on the disk of %s; %s", id, namedDisks(v.Roster))
	case f.out.Lost > 0 && !f.in.LoseDefinitions:
		return failure.Errorf(ErrNotConfirmed, "grid: nothing was done: the disk of %s is the last one with the "+
			"definitions of %s, and forgetting it loses them for good. %s. "+
			"If the disk can be restored, start the member on it instead; to lose the definitions, confirm with "+
			"--lose-definitions", id,
			spelling.Count(f.out.Lost, "partition"), lossText)
	}
	return nil
}

// probed answers the request about a disk whose member is in the roster.
func (x *forgets) probed(v View, p Probe, err error) {
	i := slices.IndexFunc(x.open, func(f *forget) bool { return f.round == p.round })
	if i < 0 {
		return
	}
	f, id := x.open[i], p.To.Member()
	if err == nil {
		x.answer(f, failure.Errorf(ErrNotNow, "grid: the disk of %s was not forgotten: its member answers at %s; a disk is "+
			"forgotten only after its member is gone for good", id, p.API))
	} else {
		x.answer(f, failure.Errorf(ErrUnavailable,
			"grid: member %s does not answer and is still in the roster; it is removed within seconds, try again then", id))
	}
	x.propose(v)
}

// lossText describes the loss of the last disk of a partition.
const lossText = "Only sequencers that a running process uses are then still known. " +
	"For all others the grid forgets that they exist, that they were destroyed, and their epoch: " +
	"a name that is created again with another epoch or node count can repeat earlier IDs"

// namedDisks lists the disks that partitions depend on.
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
