package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// agreement models Raft: one ordered log; adding a command requires a majority of the voters. It is
// looser than Raft: a replaced leader may continue to propose while it reaches a majority. Only the
// comparison of versions can reject its commands.
type agreement struct {
	g       *grid
	log     []logged
	first   int      // index at which the current grid begins
	servers []server // Raft's configuration
	leader  *member
	terms   int           // elections so far
	lost    time.Duration // when a new leader may be elected; 0 while the leader can lead
}

// logged is the roster after a log entry.
type logged struct {
	roster *roster.Roster
	raise  bool
}

// seat is a machine that a member runs on, with or without a disk.
type seat struct {
	place   int
	id      roster.MemberID
	durable bool
	index   int // last log index on its disk
	starts  int
	ended   time.Duration // when its last member ended
	running *member
	disk    map[roster.PartitionID]definitions     // by partition
	at      map[roster.PartitionID]backup.Position // positions of the tables on the disk
	zone    string
	old     bool               // its next start runs the previous release
	writes  []*write           // the running member's writes in progress
	older   *copied            // an old copy of its data directory, nil for none
	rolled  roster.Incarnation // the last process before its data directory became such a copy
}

func (a *agreement) newest() *roster.Roster { return a.log[len(a.log)-1].roster }

// server is a Raft server at a seat.
type server struct {
	leader.Server
	seat *seat
}

// serverOf returns a member's Raft server.
func serverOf(m *member, voter bool) server {
	return server{leader.Server{ID: leader.ServerOf(m.inc, m.seat.durable), Voter: voter}, m.seat}
}

// serversFor returns the Raft servers as seen by the current leader. In the baseline without
// agreement, each member sees itself as the only voter.
func (a *agreement) serversFor(m *member) []server {
	if a.g.cfg.Baseline != Quorum {
		return a.servers
	}
	var out []server
	for _, other := range a.g.running() {
		out = append(out, serverOf(other, other == m))
	}
	return out
}

// String returns the servers, for messages.
func (a *agreement) String() (out string) {
	for _, s := range a.servers {
		out += fmt.Sprintf("[seat %d, votes %v, runs %v]", s.seat.place, s.Voter, s.seat.running != nil)
	}
	return out
}

// keepsLog reports whether a seat has a server, and therefore stores the log.
func (a *agreement) keepsLog(s *seat) bool {
	return slices.ContainsFunc(a.servers, func(other server) bool { return other.seat == s })
}

// votes reports whether a seat's server has a vote.
func (a *agreement) votes(s *seat) bool {
	return slices.ContainsFunc(a.servers, func(other server) bool { return other.seat == s && other.Voter })
}

// majority reports whether a member gets replies from more than half the voters.
func (a *agreement) majority(m *member, servers []server) bool {
	n, of := 0, 0
	for _, s := range servers {
		if s.Voter {
			of++
			if s.seat.answers(m) {
				n++
			}
		}
	}
	return 2*n > of
}

// answers reports whether a seat's member runs and can exchange messages with m.
func (s *seat) answers(m *member) bool {
	r := s.running
	return r != nil && r.alive && !r.broken && (r == m || r.until <= r.w.now && r.w.net.both(m.place, s.place))
}

// propose appends a command to the log if a majority accepts it, and reports the result to the
// proposer. The result may be lost.
func (a *agreement) propose(m *member, c roster.Command, done func(error)) {
	if a.g.cfg.Baseline == Quorum {
		m.decideAlone(c, done)
		return
	}
	w := a.g.w
	giveUp := func() { m.after(time.Second, func() { done(errTimeout) }) }
	if !a.majority(m, a.servers) || m.of() != a.newest().Grid {
		giveUp()
		return
	}
	w.after(w.between(2*time.Millisecond, 30*time.Millisecond), func() {
		if !a.majority(m, a.servers) || m.of() != a.newest().Grid || !m.alive && w.chance(0.5) {
			giveUp()
			return
		}
		before := a.newest()
		next, err := before.Apply(c)
		if err != nil {
			w.note(refused, m.name, int64(c.From), int64(before.Version))
			if !errors.Is(err, roster.ErrStale) && c.Claim == before.Claim {
				a.g.fail("a planned command is refused: %v", err)
			}
			m.do(func() { done(err) })
			return
		}
		a.log = append(a.log, logged{next, c.Raise != nil})
		w.note(committed, m.name, int64(next.Version), int64(next.Ceiling))
		a.g.check(a.g.checkRoster(before, next, c.Raise != nil))
		a.g.check(a.g.checkAnchor(before, next, c))
		a.g.check(a.g.checkReadable(next, c))
		a.g.sawRoster(before, next)
		a.g.sawCopies(before, next, m)
		a.g.promises.sawDisks(before, next, c)
		index := len(a.log) - 1
		if w.chance(0.03) { // committed, but the proposer does not receive the result
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

// elect checks whether the leader can lead, and starts a vote if it could not for long enough.
func (a *agreement) elect() {
	w := a.g.w
	l := a.leader
	if l != nil && l.alive && l.lead != nil && l.until <= w.now && a.majority(l, a.servers) {
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

// vote elects a random electable voter, preferably not the current leader.
func (a *agreement) vote() {
	var able []*member
	for _, s := range a.servers {
		if m := s.seat.running; s.Voter && m != nil && m != a.leader && a.electable(m) {
			able = append(able, m)
		}
	}
	if l := a.leader; len(able) == 0 && l != nil && a.votes(l.seat) && a.electable(l) {
		able = append(able, l)
	}
	if len(able) > 0 {
		a.elected(pick(a.g.w, able))
	}
}

// confirms reports whether a majority would confirm the member's lead. The servers are the agreed
// ones, because a replaced leader lacks later members.
func (a *agreement) confirms(m *member) bool {
	return a.g.cfg.Baseline == Quorum || a.leader == m && a.majority(m, a.servers)
}

// electable reports whether a voter runs and can win an election.
func (a *agreement) electable(m *member) bool {
	return m.alive && !m.broken && m.until <= m.w.now && a.majority(m, a.servers)
}

// elected makes a member the leader. It does not notify the previous leader.
func (a *agreement) elected(m *member) {
	a.terms++
	a.leader, a.lost = m, 0
	a.g.w.note(elected, m.name, int64(a.newest().Version), int64(len(a.servers)))
	m.learn(len(a.log) - 1)
	m.resign()
	newLead(m, a.terms).announce()
}

// transferTime is the duration of a failed leadership transfer.
const transferTime = 500 * time.Millisecond

// transfer passes the lead to a voter, if the leader reaches it.
func (a *agreement) transfer(l *lead, to leader.ServerID, done func()) {
	m, w := l.m, a.g.w
	at := slices.IndexFunc(l.servers, func(s server) bool { return s.ID == to })
	if a.g.cfg.Baseline == Quorum {
		m.after(transferTime, done)
		return
	}
	target := l.servers[at].seat
	a.g.check(l.checkSuccessor(target))
	w.after(w.between(5*time.Millisecond, 50*time.Millisecond), func() {
		next := target.running
		if a.leader != m || !m.alive || next == nil || !target.answers(m) || !a.votes(target) || !a.electable(next) {
			m.after(transferTime, done)
			return
		}
		a.elected(next)
		m.do(done)
	})
}

// reconfigure commits a change to the servers. This requires the true leader, and a majority before
// and after the change. An uncommitted change is dropped, as in Raft when another leader follows.
func (a *agreement) reconfigure(l *lead, c leader.Reconfiguration, done func()) {
	m, w := l.m, a.g.w
	giveUp := func() { m.after(time.Second, done) }
	if a.g.cfg.Baseline == Quorum || a.leader != m {
		giveUp()
		return
	}
	a.g.check(l.checkVoters(a.changed(c), c))
	w.after(w.between(2*time.Millisecond, 30*time.Millisecond), func() {
		next := a.changed(c)
		if a.leader != m || !m.alive || !a.majority(m, a.servers) || !a.majority(m, next) {
			giveUp()
			return
		}
		a.servers = next
		w.note(configured, string(c.Server), int64(c.Do), int64(len(next)))
		m.do(done)
	})
}

// changed returns the servers after a change.
func (a *agreement) changed(c leader.Reconfiguration) []server {
	next := slices.Clone(a.servers)
	at := slices.IndexFunc(next, func(s server) bool { return s.ID == c.Server })
	switch {
	case c.Do == leader.AddServer && at < 0:
		if m := a.g.members[c.Member.Incarnation]; m != nil {
			next = append(next, server{leader.Server{ID: c.Server}, m.seat})
		}
	case at < 0:
	case c.Do == leader.Remove:
		next = slices.Delete(next, at, at+1)
	default:
		next[at].Voter = c.Do == leader.Promote
	}
	return next
}

// stays reports whether a seat's member will still be able to vote: it runs and the leader has not
// let it leave, or it can restart from its disk.
func (s *seat) stays() bool {
	if s.running != nil {
		return !s.running.letGo
	}
	return s.durable
}

// unawareFor is the time for which a leader may count on a stopped voter: until a probe fails.
const unawareFor = 2 * time.Second

// unaware reports whether letting a seat's member leave costs the leader its majority because
// another voter has ended so recently that the leader cannot have detected it.
func (a *agreement) unaware(letGo *seat) bool {
	return !a.expendable(letGo) && slices.ContainsFunc(a.servers, func(s server) bool {
		return s.Voter && s.seat.running == nil && a.g.w.now-s.seat.ended < unawareFor
	})
}

// expendable reports whether the remaining voters have a majority without the members on some
// seats.
func (a *agreement) expendable(gone ...*seat) bool {
	n, of := 0, 0
	for _, s := range a.servers {
		if s.Voter {
			of++
			if !slices.Contains(gone, s.seat) && s.seat.stays() {
				n++
			}
		}
	}
	return 2*n > of
}
