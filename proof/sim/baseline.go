package sim

import (
	"slices"

	"github.com/snowgrid/snowgrid/partition"
)

// The baseline without agreement: a member that is the first of those it sees,
// and sees as many as the quorum, decides for them all. Its word counts for who
// hears it and knows nothing newer.

// countMembers has each member see whether it leads a side.
func (g *grid) countMembers() {
	quorum := (g.cfg.Members + 1) / 2
	all := g.running()
	for _, m := range all {
		if m.until > g.w.now {
			continue // it believes what it believed
		}
		seen, first := 0, true
		for _, s := range all {
			if s.seat.answers(m) {
				seen++
				first = first && s.place >= m.place
			}
		}
		switch leads := first && seen >= quorum; {
		case leads && m.lead == nil:
			m.lead = newLeader(m, 1)
			g.agreed.terms++
		case !leads:
			m.lead = nil
		}
	}
}

// decideAlone applies a command to what this member believes.
func (m *member) decideAlone(c partition.Command, done func(error)) {
	next, err := m.roster.Apply(c)
	if err == nil {
		if c.Change != nil {
			m.g.sawRoster(m.roster, next)
			without := *next
			without.Partitions = slices.Clone(next.Partitions)
			for id := range without.Partitions {
				without.Partitions[id].Floor = 0
			}
			next = &without
		}
		m.follow(next)
	}
	m.after(leadEvery/2, func() { done(err) })
}

// follow believes a roster that is not older than one's own.
func (m *member) follow(r *partition.Roster) {
	if r.Version < m.roster.Version || r == m.roster {
		return
	}
	before := m.roster.Time
	m.roster = r
	if r.Time != before {
		m.tookRaise(r.Time)
	}
	m.attend()
}
