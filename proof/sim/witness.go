package sim

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/roster/plan"
)

// look fills in who is silent and who is gone, and begins to call new members.
func (l *leader) look(r *roster.Roster, s *plan.Sight) {
	now := l.m.Mono()
	for _, record := range r.Members {
		inc := record.Incarnation
		if inc == l.m.inc {
			continue
		}
		c := l.calls[inc]
		if c == nil {
			c = &calls{}
			l.calls[inc] = c
			l.watch(inc)
		}
		seen := l.m.g.gossips(l.m, inc)
		extra := time.Duration(0)
		if seen {
			extra = seenExtra
		}
		switch alarm := l.m.g.alarms[inc]; {
		case c.failing && now-c.since >= deadAfter+extra, c.refused && !seen, alarm == alarmGone:
			s.Gone = append(s.Gone, inc)
		case c.failing && now-c.since >= silentAfter+extra, alarm == alarmSilent:
			s.Silent = append(s.Silent, inc)
		}
	}
}

// watch calls a member again and again.
func (l *leader) watch(inc roster.Incarnation) {
	m, to := l.m, l.m.g.members[inc]
	c := l.calls[inc]
	if _, in := m.roster.Member(inc); m.lead != l || !in || c == nil {
		delete(l.calls, inc)
		return
	}
	began := m.Mono()
	call(&m.process, &to.process, callTimeout,
		func(reply func(roster.Version)) { reply(to.roster.Version) },
		func(v roster.Version, err error) {
			pause := callEvery
			if err == nil && (len(l.seen) == 0 || v >= l.seen[0].version) {
				*c = calls{}
			} else {
				if !c.failing {
					c.failing, c.since = true, began
				}
				c.refused = errors.Is(err, errRefused)
				pause = leadEvery
			}
			m.after(pause, func() { l.watch(inc) })
		})
}
