package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A voter need not wait until it has missed heartbeats for long. When a leader's process ends,
// its streams break, and when it is silent, somebody waits for it or gossip probes it in vain. By such
// a sign the voter calls the leader. If that is refused twice it stands for election. If it is not
// answered, it asks the other voters, and stands if a majority hears nothing from the leader: one that
// only this voter does not reach continues to lead. Raft's safety does not depend on when a voter
// stands: a wrong guess costs an election.
const (
	// candidacyTries bounds the calls of one candidacy: a process that ends may close its
	// streams before its listener.
	candidacyTries = 8
	// candidacyTurn is the least pause between two voters, so that they do not split the votes: the first has
	// the vote of the second by then, which then does not stand. The first may hear of the end of the
	// leader half a round trip later, has its calls refused in two, and the vote takes half of one.
	candidacyTurn  = 150 * time.Millisecond
	turnRoundTrips = 4
)

// raiseSlack is how much later than usual a raise of the ceiling may come.
const raiseSlack = 250 * time.Millisecond

// RaiseOverdue returns for how long a member that hears of no raise of the ceiling may take the leader
// for well: two intervals. With a short window holders would wait before heartbeats are missed.
func RaiseOverdue(window time.Duration) time.Duration {
	return 2*window/raisesPerWindow + raiseSlack
}

// Candidacy judges a sign that the leader has ended or is silent, for a voter. Its driver calls
// the leader, reports the outcome, and takes the step that follows. The first call without an answer
// has the other voters call it, too, so that each of them knows by a call of its own whether it answers
// when it is asked: at rest Raft's heartbeats are further apart than a member may be silent.
//
//	calling --- answered, or too many tries --------------------> over
//	 |   |                                                         ^
//	 |   +-- no answer for suspectAfter --> asking the voters -----+ a majority hears the leader
//	 |                                          |
//	 |                                          | a majority hears nothing for suspectAfter
//	 |                                          v
//	 +------ refused twice ------------> waits for its turn ---> stands, unless there is
//	                                                             another leader by then
type Candidacy struct {
	turn     int        // how many voters stand before this one
	voters   []ServerID // but the leader, ascending
	silence  Silence
	tries    int
	doubted  bool // another voter began it, and tells the others
	told     bool // the other voters are told of it
	toldAt   time.Duration
	refusals Refusals
}

// Next is the next action of a candidacy after a pause: to call the leader again, to ask the other
// voters, to stand for election when its turn comes, or with none set nothing more. With Tell the other voters are told
// that the leader does not answer, before the pause.
type Next struct {
	Pause            time.Duration
	Call, Ask, Stand bool
	Tell             bool
}

// Look is a voter's call of the leader, and its outcome.
type Look struct {
	Began, Ended time.Duration // by the monotonic clock
	Err          error         // matches [ErrAbsent] if it proves that the process is not there
	Leads        bool          // without an error: it leads, and its disk works
}

// outcome returns the error of a look. A process that leads no longer counts like one that has ended.
func (k Look) outcome() error {
	if k.Err == nil && !k.Leads {
		return ErrAbsent
	}
	return k.Err
}

// NewCandidacy returns the candidacy of a voter, false for a server that is none. The
// voters take turns in the order of their IDs.
func NewCandidacy(servers []Server, self, leader ServerID) (*Candidacy, bool) {
	var voters []ServerID
	for _, s := range servers {
		if s.Voter && s.ID != leader {
			voters = append(voters, s.ID)
		}
	}
	slices.Sort(voters)
	turn := slices.Index(voters, self)
	return &Candidacy{turn: turn, voters: voters}, turn >= 0
}

// Turn returns how long this voter waits before it stands, 0 for the first. roundTrip is that to the farthest
// voter.
func (c *Candidacy) Turn(roundTrip time.Duration) time.Duration {
	return time.Duration(c.turn) * max(candidacyTurn, turnRoundTrips*roundTrip)
}

// Doubted notes that another voter began this candidacy: it tells all others that the leader does not
// answer, and this one does not. Two voters would have each other look for as long as calls are slow.
func (c *Candidacy) Doubted() { c.doubted = true }

// Stands reports whether this voter still stands when its turn has come: not if since its last call it has
// heard from a leader, or has voted for another. unheard is for how long it has not.
func (c *Candidacy) Stands(now, unheard time.Duration) bool { return now-unheard <= c.silence.Last }

// Looked takes in a look at the leader.
func (c *Candidacy) Looked(k Look) Next {
	err := k.outcome()
	if c.tries == 0 {
		c.silence.Since = k.Began
	}
	c.silence.Last = k.Began
	c.refusals.Note(k.Began, err)
	c.tries++
	var next Next
	switch {
	case err == nil:
	case c.refusals.Prove():
		next.Stand = true
	case c.tries >= suspectFailures && k.Ended-c.silence.Since >= suspectAfter:
		next.Ask = true
	case c.tries < candidacyTries:
		next.Pause, next.Call = refusedApart, true
	}
	// An answer to another voter counts there for suspectAfter, so a call that failed early is told again.
	if due := !c.told || k.Ended-c.toldAt >= suspectAfter/2; err != nil && due && !c.doubted && !next.Ask {
		next.Tell, c.told, c.toldAt = true, true, k.Ended
	}
	return next
}

// Silence is of a leader that did not answer a voter, which then led in its place. The member is
// suspect in the new lead as one that was probed in vain, until it answers.
type Silence struct {
	Member      roster.Incarnation // "" for none
	Since, Last time.Duration      // when the first call began, and the last, by the monotonic clock
	// Calls is how many there were. Without any only heartbeats were missed, which may be this
	// member's fault: then the leader before is probed with the shorter timeout, and no more.
	Calls int
}

// silenceLasts is for how long after the last call a silence counts.
const silenceLasts = time.Second

// Silence returns the silence of the leader, an incarnation, in this candidacy.
func (c *Candidacy) Silence(of roster.Incarnation) Silence {
	s := c.silence
	s.Member, s.Calls = of, c.tries
	return s
}

// begin returns the record of a member that a lead begins with. Silence from before the lead makes it
// suspect, whatever its length: only probes of this lead can show that it is dead (R7).
func (s Silence) begin(of roster.Incarnation, now time.Duration) contact {
	c := contact{admitted: now, next: now}
	if of == s.Member && s.Calls > 0 && now-s.Last <= silenceLasts {
		c.failing, c.since, c.failed, c.ended, c.failures = true, max(s.Since, now-suspectAfter), s.Last, now, s.Calls
	}
	return c
}

// Voters returns the voters but the leader, this one too.
func (c *Candidacy) Voters() []ServerID { return c.voters }

// Asked takes in for how long this voter and each other one that has answered have heard nothing
// from the leader.
func (c *Candidacy) Asked(unheard []time.Duration) Next {
	silent := 0
	for _, d := range unheard {
		if d >= suspectAfter {
			silent++
		}
	}
	if all := len(c.voters) + 1; silent <= all/2 {
		return Next{}
	}
	return Next{Stand: true}
}
