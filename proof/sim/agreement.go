package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/roster"
)

// agreement is what Raft gives the members: one log of commands, in one order,
// that needs a majority of the voters to grow. It is looser than Raft in that a
// leader that was replaced may go on proposing while it reaches a majority: the
// comparison of versions alone has to refuse it.
type agreement struct {
	g      *grid
	log    []logged
	voters []*seat
	leader *member
	terms  int           // elections so far
	lost   time.Duration // since when the leader cannot lead; 0 while it can
}

// logged is the roster after a command of the log.
type logged struct {
	roster *roster.Roster
	raise  bool
}

// seat is a machine that a member runs on, with or without a disk.
type seat struct {
	place   int
	id      roster.MemberID
	durable bool
	index   int // of the log on its disk
	starts  int
	running *member
	disk    map[roster.PartitionID]definitions // by partition
	writes  []*write                           // of the running member, that are under way
}

func (a *agreement) newest() *roster.Roster { return a.log[len(a.log)-1].roster }

// votersFor is how many voters a grid of n members has.
func votersFor(n int) int {
	if n < 3 {
		return 1
	}
	return 3
}

// majority reports whether more than half of some voters answer somebody.
func (a *agreement) majority(m *member, voters []*seat) bool {
	n := 0
	for _, v := range voters {
		if v.answers(m) {
			n++
		}
	}
	return 2*n > len(voters)
}

// answers reports whether a seat's member runs and can be talked to.
func (s *seat) answers(m *member) bool {
	r := s.running
	return r != nil && r.alive && (r == m || r.until <= r.w.now && r.w.net.both(m.place, s.place))
}

// propose puts a command to the log, if a majority takes it, and tells the
// proposer, or nobody, what came of it.
func (a *agreement) propose(m *member, c roster.Command, done func(error)) {
	if a.g.cfg.Baseline == Quorum {
		m.decideAlone(c, done)
		return
	}
	w := a.g.w
	giveUp := func() { m.after(time.Second, func() { done(errTimeout) }) }
	if !a.majority(m, a.voters) {
		giveUp()
		return
	}
	w.after(w.between(2*time.Millisecond, 30*time.Millisecond), func() {
		if !a.majority(m, a.voters) || !m.alive && w.chance(0.5) {
			giveUp()
			return
		}
		before := a.newest()
		next, err := before.Apply(c)
		if err != nil {
			w.note(refused, m.name, int64(c.From), int64(before.Version))
			if !errors.Is(err, roster.ErrStale) {
				a.g.fail("a planned command is refused: %v", err)
			}
			m.do(func() { done(err) })
			return
		}
		a.log = append(a.log, logged{next, c.Raise != nil})
		w.note(committed, m.name, int64(next.Version), int64(next.Ceiling))
		a.g.check(a.g.checkRoster(before, next, c.Raise != nil))
		a.g.sawRoster(before, next)
		a.g.sawDisks(before, next, c)
		index := len(a.log) - 1
		if w.chance(0.03) { // committed, and its proposer does not hear of it
			giveUp()
			return
		}
		m.do(func() {
			m.learn(index)
			if m.lead != nil {
				m.lead.announce()
			}
			done(nil)
		})
	})
}

// elect looks whether the leader can lead, and finds another if it cannot for
// long enough.
func (a *agreement) elect() {
	w := a.g.w
	l := a.leader
	if l != nil && l.alive && l.lead != nil && l.until <= w.now && a.majority(l, a.voters) {
		a.lost = 0
		return
	}
	if a.lost == 0 {
		a.lost = w.now + w.between(500*time.Millisecond, 2*time.Second)
		return
	}
	if w.now >= a.lost {
		a.vote()
	}
}

// vote makes one of those voters the leader that a majority answers. Who led
// before is not told here.
func (a *agreement) vote() {
	var able []*member
	for _, v := range a.voters {
		if m := v.running; m != nil && m != a.leader && m.alive && m.until <= m.w.now && a.majority(m, a.voters) {
			able = append(able, m)
		}
	}
	if l := a.leader; len(able) == 0 && l != nil && l.alive && l.until <= l.w.now && a.majority(l, a.voters) {
		able = append(able, l)
	}
	if len(able) == 0 {
		return
	}
	m := pick(a.g.w, able)
	a.terms++
	a.leader, a.lost = m, 0
	a.g.w.note(elected, m.name, int64(a.newest().Version), int64(len(a.voters)))
	m.learn(len(a.log) - 1)
	m.lead = newLeader(m, a.terms)
	m.lead.announce()
}

// keepVoters brings the number of voters to what it is meant to be, one at a
// time, if a majority of them agrees before and after.
func (a *agreement) keepVoters(m *member) {
	r := a.newest()
	isMember := func(s *seat) bool {
		return slices.ContainsFunc(r.Members, func(x roster.Member) bool { return x.Incarnation.Member() == s.id })
	}
	want := votersFor(len(r.Members))
	next := slices.Clone(a.voters)
	useless := slices.IndexFunc(next, func(s *seat) bool { return !isMember(s) || !s.durable && s.running == nil })
	spare := slices.IndexFunc(a.g.seats, func(s *seat) bool {
		return isMember(s) && s.answers(m) && !slices.Contains(next, s)
	})
	switch {
	case (len(next) < want || useless >= 0) && spare >= 0:
		next = append(next, a.g.seats[spare])
	case useless >= 0 && len(next) > 1:
		next = slices.Delete(next, useless, useless+1)
	case len(next) > want:
		next = slices.Delete(next, 0, 1)
	default:
		return
	}
	if len(next) > want && len(next) > len(a.voters) && useless >= 0 {
		next = slices.Delete(next, useless, useless+1)
	}
	if a.majority(m, a.voters) && a.majority(m, next) {
		a.voters = next
	}
}

// expendable reports whether the voters can still agree when a seat's member is
// gone for good.
func (a *agreement) expendable(gone *seat) bool {
	n := 0
	for _, v := range a.voters {
		if v != gone && (v.durable || v.running != nil) {
			n++
		}
	}
	return 2*n > len(a.voters)
}
