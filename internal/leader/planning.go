package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// patience is the time during which a roster version stays unchanged so that joining replicas can
// be admitted at it.
const patience = time.Second

// planning is the state of the planner.
type planning struct {
	planner plan.Planner
	version roster.Version // of the roster at the last plan
	since   time.Duration  // first plan at that version
}

// plan proposes the next change of the roster, if one is due.
func (l *Leader) plan(v View) {
	if l.changes.pending {
		return
	}
	l.admission.forgetLeft(v.has)
	c, due := l.planning.planner.Plan(v.Roster, l.sight(v))
	if due {
		l.changes.propose(c)
	}
}

// sight returns the planner's input: the leader's view of the members.
func (l *Leader) sight(v View) plan.Sight {
	r := v.Roster
	if l.planning.version != r.Version {
		l.planning.version, l.planning.since = r.Version, v.Mono
	}
	anchored := l.anchoring.machine != nil
	s := plan.Sight{
		Join: l.additions.admitted(v), Leave: l.succession.parting(v, l.admission.leavers(v), anchored),
		Held: l.reports.heldAt(r.Version), Persisted: l.reports.persistedAt(r.Version), Apart: l.Apart(v),
		Assign: l.complete(v), Granted: l.reports.earlier, Limit: l.anchoring.limit(v.Roster),
	}
	if v.Roster.Claim != "" && s.Granted > s.Limit { // the record is extended first
		s.Granted = 0
	}
	s.Patient = len(s.Held) < r.Joining() && v.Mono-l.planning.since < patience
	s.Zones = map[roster.Incarnation]string{l.self: l.cfg.Self.Zone}
	for inc, c := range l.detector.contacts {
		if c.said {
			s.Zones[inc] = c.zone
		}
	}
	s.Keepers = l.keepers(v)
	l.detector.judge(v, &s)
	s.Gone = append(s.Gone, l.admission.failedMembers()...)
	return s
}

// complete reports whether partitions without an owner may get one: the initial number of members
// and voters have joined, or, after a restart, every member has answered or is suspect.
func (l *Leader) complete(v View) bool {
	want := max(l.cfg.Expect, 1)
	voters := 0
	for _, s := range v.Servers {
		if s.Voter {
			voters++
		}
	}
	if v.Roster.Restarted { // members may be gone
		return l.detector.settled(v)
	}
	return len(v.Roster.Members) >= want && voters >= VotersFor(want, v.Roster.Settings.MostVoters())
}

// changes proposes changes of the roster, one at a time: a second one would be computed from
// the same version, and refused.
type changes struct {
	out     Member
	pending bool // a change has no outcome yet
}

func (c *changes) propose(command roster.Command) {
	c.pending = true
	c.out.Propose(command)
}

// In a grid without data directories a majority of voters keeps each partition's definitions in
// memory. Package roster chooses them from the voters, which the leader names.

// keepers returns, sorted, the voters in a grid without data directories, once partitions
// have owners or are about to.
func (l *Leader) keepers(v View) []roster.Incarnation {
	if !v.Roster.Assigned() && !l.complete(v) {
		return nil
	}
	var out []roster.Incarnation
	for _, s := range v.Servers {
		switch {
		case !s.Voter:
		case s.ID.IsDurable():
			return nil
		default:
			out = append(out, roster.Incarnation(s.ID))
		}
	}
	slices.Sort(out)
	return out
}
