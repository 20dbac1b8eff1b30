package leader

import (
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// A voter reacts to signs before it has missed many heartbeats: a stream breaks when the leader's
// process ends, and a caller waits, or a gossip probe fails, when the leader is silent. The voter
// then calls the leader. After two refused calls it stands for election. After an unanswered call
// it queries the other voters, and stands if the leader is silent to a majority: a leader that only
// one voter cannot reach continues to lead. Raft's safety does not depend on when a voter stands: a
// wrong guess costs an election.
const (
	// candidacyTries bounds the calls in one candidacy: an ending process may close its streams
	// before its listener.
	candidacyTries = 8
	// candidacyTurn is the least pause between two voters, so that they do not split the votes: by then
	// the second has voted for the first, and does not stand. The first may detect the leader's end half
	// a round trip later, its refused calls take two round trips, and the vote half a round trip.
	candidacyTurn  = 150 * time.Millisecond
	turnRoundTrips = 4
)

// deafAfter is the time without an answer after which a leader counts as silent although Raft reaches it. With
// the default window another owner serves its holders before their grants end. Late answers count: a leader
// that is busy is not replaced.
const deafAfter = 3 * time.Second

// raiseSlack is the tolerated delay before a raise is overdue.
const raiseSlack = 250 * time.Millisecond

// RaiseOverdue returns the time without a raise after which a member suspects the leader: two
// intervals. With a short window holders would wait before heartbeats are missed.
func RaiseOverdue(window time.Duration) time.Duration {
	return 2*window/roster.RaisesPerWindow + raiseSlack
}

// Candidacy decides, for a voter, whether the leader has ended or is silent. Its driver calls the
// leader, records the result, and takes the next action. After the first unanswered call the other
// voters call the leader, too, so that each has a result: Raft's heartbeats at rest are further
// apart than a member may be silent.
//
//	calling --- answered, or too many tries --------------------> over
//	 |   |                                                         ^
//	 |   +-- no answer for suspectAfter --> querying the voters ---+ a majority reaches the leader
//	 |                                          |
//	 |                                          | silent to a majority for suspectAfter
//	 |                                          v
//	 +------ refused twice ------------> waits for its turn ---> stands, unless there is
//	                                                             another leader by then
type Candidacy struct {
	turn     int        // the number of voters that stand before this one
	voters   []ServerID // except the leader, ascending
	silence  Silence
	tries    int
	doubted  bool // another voter started it, and informs the others
	deaf     bool // a majority reaches the leader by Raft alone
	told     bool // the other voters are informed
	toldAt   time.Duration
	refusals Refusals
}

// Next is the next action after a pause: call the leader again, query the other voters, or stand for
// election in turn. With none set the candidacy is over. With Tell the driver informs the other
// voters that the leader does not answer, before the pause.
type Next struct {
	Pause            time.Duration
	Call, Ask, Stand bool
	Tell             bool
}

// ProbeResult is the result when a voter calls the leader.
type ProbeResult struct {
	Began, Ended time.Duration // by the monotonic clock
	Err          error         // matches [ErrAbsent] if it proves that the process is not there
	Leads        bool          // without an error: it leads, and its disk works
}

// outcome returns the error. A process that no longer leads counts as ended.
func (k ProbeResult) outcome() error {
	if k.Err == nil && !k.Leads {
		return ErrAbsent
	}
	return k.Err
}

// Cause returns why the process does not lead, for the log, if the outcome proves that.
func (k ProbeResult) Cause() string {
	if k.Err != nil || k.Leads {
		return "its process has ended"
	}
	return "it no longer leads, or its disk has failed"
}

// NewCandidacy returns a voter's candidacy, false for any other server. The voters take turns by
// ascending ID.
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

// Turn returns the wait before this voter stands, 0 for the first. roundTrip is the round trip to the
// farthest voter.
func (c *Candidacy) Turn(roundTrip time.Duration) time.Duration {
	return time.Duration(c.turn) * max(candidacyTurn, turnRoundTrips*roundTrip)
}

// Doubted records that another voter started this candidacy and informs the others. Two voters would
// otherwise trigger each other indefinitely while calls are slow.
func (c *Candidacy) Doubted() { c.doubted = true }

// Stands reports whether this voter still stands when its turn has come: not if a leader has contacted
// it, or it has voted for another, since its last call. unheard is the time since that contact. A leader that
// Raft alone reaches contacts it; then it stands while it follows that leader.
func (c *Candidacy) Stands(now, unheard time.Duration, follows bool) bool {
	return c.deaf && follows || now-unheard <= c.silence.Last
}

// RecordProbe records the outcome of a probe of the leader, and returns what the voter does next.
func (c *Candidacy) RecordProbe(k ProbeResult) Next {
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
	// An answer to another voter counts there for suspectAfter, so an early failure is repeated.
	if due := !c.told || k.Ended-c.toldAt >= suspectAfter/2; err != nil && due && !c.doubted && !next.Ask {
		next.Tell, c.told, c.toldAt = true, true, k.Ended
	}
	return next
}

// Silence describes a leader that did not answer a voter, which then took its place. The new leader
// suspects the member, as after failed probes, until it answers.
type Silence struct {
	Member      roster.Incarnation // "" for none
	Since, Last time.Duration      // start times: the first call and the last, by the monotonic clock
	// Calls counts the calls. Without calls only heartbeats were missed, which may be this member's
	// fault: the previous leader is then only probed with the shorter timeout.
	Calls int
}

// silenceLasts is the lifetime of a silence after the last call.
const silenceLasts = time.Second

// Silence returns the leader's silence in this candidacy.
func (c *Candidacy) Silence(of roster.Incarnation) Silence {
	s := c.silence
	s.Member, s.Calls = of, c.tries
	return s
}

// begin returns a member's record at the start of a lead. Silence from before the lead makes it suspect,
// whatever its length: only probes in this lead can prove that it is dead (R7).
func (s Silence) begin(of roster.Incarnation, now time.Duration) contact {
	c := contact{admitted: now, next: now}
	if of == s.Member && s.Calls > 0 && now-s.Last <= silenceLasts {
		c.failing, c.since, c.failed, c.ended, c.failures = true, max(s.Since, now-suspectAfter), s.Last, now, s.Calls
	}
	return c
}

// Voters returns the voters except the leader, including this one.
func (c *Candidacy) Voters() []ServerID { return c.voters }

// Contact is a voter's contact with the leader.
type Contact struct {
	Unheard    time.Duration // the time since the last one, by Raft or as an answer
	Unanswered time.Duration // the time for which the leader has answered no call
}

// Asked records the contacts of this voter, and of each other voter that has answered, with the leader.
// A leader that Raft reaches and calls do not serves no holder, and its own failure detector does not
// notice: it counts as silent after deafAfter.
func (c *Candidacy) Asked(contacts []Contact) Next {
	silent, unanswered := 0, 0
	for _, k := range contacts {
		if k.Unheard >= suspectAfter {
			silent++
		}
		if k.Unheard >= suspectAfter || k.Unanswered >= deafAfter {
			unanswered++
		}
	}
	all := len(c.voters) + 1
	c.deaf = silent <= all/2
	return Next{Stand: unanswered > all/2}
}

// Reason returns, for the log, why the leader counts as silent.
func (c *Candidacy) Reason() string {
	if c.deaf {
		return "it answers no calls of most voters"
	}
	return "most voters receive nothing from it"
}
