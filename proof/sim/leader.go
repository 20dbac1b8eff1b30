package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/roster/plan"
)

// leader does what grid's leader does: it raises the ceiling, watches the
// members, and plans. It may be an old one that has not heard of the next.
type leader struct {
	m       *member
	term    int
	keeper  clustertime.Timekeeper
	planner plan.Planner
	next    time.Duration // when to raise next
	raising bool
	busy    bool // a change is proposed
	version roster.Version
	since   time.Duration

	calls  map[roster.Incarnation]*calls
	seen   []seenVersion
	joins  map[roster.Incarnation]request
	joined map[roster.Replica]roster.Version
	onDisk map[roster.PartitionID]roster.Version
	alone  time.Duration // since when no majority answers; 0 while one does
}

// request is a member's wish to be let in, or out.
type request struct {
	record roster.Member
	leaves bool
	at     time.Duration
}

// calls is what became of the calls to one member.
type calls struct {
	failing, refused bool
	since            time.Duration
}

type seenVersion struct {
	version roster.Version
	at      time.Duration
}

const (
	leadEvery   = 300 * time.Millisecond
	patience    = time.Second
	joinLives   = 3 * time.Second
	silentAfter = 500 * time.Millisecond
	deadAfter   = 5 * time.Second
	seenExtra   = 3 * time.Second
	lagLimit    = 2 * time.Second
	callEvery   = time.Second
	callTimeout = 500 * time.Millisecond
)

func newLeader(m *member, term int) *leader {
	l := &leader{
		m: m, term: term, calls: map[roster.Incarnation]*calls{},
		joins: map[roster.Incarnation]request{}, joined: map[roster.Replica]roster.Version{},
		onDisk: map[roster.PartitionID]roster.Version{},
	}
	m.leader, m.term, m.heard = m, term, m.w.now
	l.loop()
	return l
}

// loop runs until the member learns of another leader, or has been alone for long.
func (l *leader) loop() {
	l.m.after(leadEvery, func() {
		if l.m.lead != l {
			return
		}
		l.step()
		l.loop()
	})
}

func (l *leader) step() {
	m, a := l.m, l.m.g.agreed
	m.heard = m.w.now
	if !a.majority(m, a.voters) && m.g.cfg.Baseline != Quorum {
		if l.alone == 0 {
			l.alone = m.w.now + m.w.between(0, 8*time.Second)
		} else if m.w.now > l.alone && a.leader != m {
			m.lead = nil
			return
		}
	} else {
		l.alone = 0
	}
	if _, in := m.roster.Member(m.inc); !in {
		l.asked(m, m.leaving)
	}
	l.announce()
	l.raise()
	if a.leader == m && l.alone == 0 {
		m.learn(len(a.log) - 1) // also what it proposed and did not hear of
		a.keepVoters(m)
	}
	l.plan()
}

// announce tells the members how far the log has come.
func (l *leader) announce() {
	for _, s := range l.m.g.seats {
		r := s.running
		if r == nil || r == l.m {
			continue
		}
		_, in := l.m.roster.Member(r.inc)
		if _, asks := l.joins[r.inc]; !in && !asks {
			continue
		}
		from, term, index, roster := l.m, l.term, l.m.index, l.m.roster
		l.m.w.net.send(&l.m.process, &r.process, func() {
			if l.m.g.cfg.Baseline == Quorum {
				r.follow(roster)
				return
			}
			r.heardLeader(from, term, index)
		})
	}
}

// asked notes a wish to be let in or out.
func (l *leader) asked(m *member, leaves bool) {
	l.joins[m.inc] = request{m.record(), leaves, l.m.Mono()}
}

// toldHeld notes a joining replica that holds its table.
func (l *leader) toldHeld(owner roster.Incarnation, h roster.Holding) {
	r := l.m.roster
	if h.Version == r.Version && r.Partitions[h.Partition].Owner == owner {
		l.joined[h.Replica] = h.Version
	}
}

// raise moves cluster time and the ceiling on.
func (l *leader) raise() {
	m, r := l.m, l.m.roster
	if !r.Assigned() || r.Stopped > 0 || l.raising || m.Mono() < l.next {
		return
	}
	l.raising = true
	l.next = m.Mono() + r.Settings.Window.Duration()/10
	voters := l.electorate()
	var clocks []clustertime.Tick
	var known clustertime.Tick
	decided := false
	decide := func() {
		if !decided && m.lead == l {
			decided = true
			l.decide(clocks, len(voters), known)
		}
	}
	for _, v := range voters {
		if v == m.seat {
			clocks = append(clocks, m.Wall())
			continue
		}
		if v.running == nil {
			continue
		}
		to := v.running
		type hello struct{ wall, time clustertime.Tick }
		call(&m.process, &to.process, time.Second,
			func(reply func(hello)) { reply(hello{to.Wall(), to.Now()}) },
			func(h hello, err error) {
				if err == nil && !decided {
					clocks, known = append(clocks, h.wall), max(known, h.time)
				}
				if len(clocks) == len(voters) {
					decide()
				}
			})
	}
	if len(clocks) == len(voters) {
		decide()
	}
	m.after(time.Second, decide)
}

func (l *leader) electorate() []*seat {
	if l.m.g.cfg.Baseline == Quorum {
		return []*seat{l.m.seat}
	}
	return l.m.g.agreed.voters
}

func (l *leader) decide(clocks []clustertime.Tick, voters int, known clustertime.Tick) {
	m, r := l.m, l.m.roster
	prev, elapsed := m.raised.time, time.Duration(0)
	if prev > 0 {
		elapsed = m.Mono() - m.raised.at
	}
	t, keeper, _ := l.keeper.Next(prev, elapsed, clocks, voters)
	l.keeper = keeper
	m.g.check(m.g.checkTime(prev, t))
	if prev == 0 {
		t = max(t, r.Time, known)
	}
	if t == 0 {
		l.raising, l.next = false, 0
		return
	}
	m.g.agreed.propose(m, roster.Command{From: r.Version, Raise: &roster.Raise{Time: t}}, func(err error) {
		l.raising = false
		if err != nil {
			l.next = 0
		}
	})
}

// plan proposes the next change, if one is due.
func (l *leader) plan() {
	if l.busy {
		return
	}
	c, due := l.planner.Plan(l.m.roster, l.sight())
	if !due {
		return
	}
	l.busy = true
	l.m.g.agreed.propose(l.m, c, func(error) { l.busy = false })
}

// sight is what this leader believes; much of it may be wrong.
func (l *leader) sight() plan.Sight {
	m, r := l.m, l.m.roster
	now := m.Mono()
	if l.version != r.Version {
		l.version, l.since = r.Version, now
		l.seen = append(l.seen, seenVersion{r.Version, now})
	}
	for len(l.seen) > 1 && now-l.seen[1].at >= lagLimit {
		l.seen = l.seen[1:]
	}
	s := plan.Sight{Assign: len(r.Members) >= m.g.cfg.Members || len(r.Members) >= len(m.g.seats)}
	for _, inc := range sortedKeys(l.joins) {
		switch q := l.joins[inc]; {
		case now-q.at > joinLives:
			delete(l.joins, inc)
		case q.leaves:
			s.Leave = append(s.Leave, inc)
		default:
			s.Join = append(s.Join, q.record)
		}
	}
	for _, replica := range sortedReplicas(l.joined) {
		if v := l.joined[replica]; v < r.Version {
			delete(l.joined, replica)
		} else {
			s.Held = append(s.Held, roster.Holding{Replica: replica, Version: v})
		}
	}
	s.Persisted = l.persisted()
	s.Patient = len(s.Held) < r.Joining() && now-l.since < patience
	l.look(r, &s)
	return s
}

func sortedKeys[V any](m map[roster.Incarnation]V) []roster.Incarnation {
	out := make([]roster.Incarnation, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func sortedReplicas(m map[roster.Replica]roster.Version) []roster.Replica {
	out := make([]roster.Replica, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b roster.Replica) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Member, b.Member))
	})
	return out
}
