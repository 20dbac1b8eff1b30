package leader

import (
	"slices"
	"time"
)

// When a leader's process ends, its streams break, and a voter need not wait until it has
// missed heartbeats for long. It calls the leader, and if that is refused twice it
// stands for election. Raft's safety does not depend on when a voter stands: a wrong
// guess costs an election.
const (
	// candidacyTries bounds the calls of one candidacy: a process that ends may close its
	// streams before its listener.
	candidacyTries = 8
	// candidacyTurn is the pause between two voters, so that they do not split the votes.
	candidacyTurn = 150 * time.Millisecond
)

// Candidacy judges a broken stream from the leader, for a voter. Its driver calls the
// leader, reports the outcome, and takes the step that follows:
//
//	calling --- answered, or too many tries ---> over
//	   |
//	   +------- refused twice ---> waits for its turn ---> stands, unless there is
//	                                                       another leader by then
type Candidacy struct {
	turn     time.Duration
	tries    int
	refusals Refusals
}

// Next is the next action of a candidacy after a pause: to call the leader again, to stand
// for election, or with neither set nothing more.
type Next struct {
	Pause       time.Duration
	Call, Stand bool
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
	return &Candidacy{turn: time.Duration(turn) * candidacyTurn}, turn >= 0
}

// Called takes in a call of the leader that began at a time by the monotonic clock. An
// error that matches [ErrAbsent] proves that the process is not there.
func (c *Candidacy) Called(began time.Duration, err error) Next {
	c.refusals.Note(began, err)
	c.tries++
	switch {
	case err == nil:
		return Next{}
	case c.refusals.Prove():
		return Next{Pause: c.turn, Stand: true}
	case c.tries >= candidacyTries:
		return Next{}
	}
	return Next{Pause: refusedApart, Call: true}
}
