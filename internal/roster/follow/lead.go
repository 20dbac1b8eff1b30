package follow

import (
	"crypto/subtle"
	"time"
)

// TouchFor is the time without a push after which a learner counts as out of touch with its leader.
const TouchFor = 3 * time.Second

// Told identifies the sender in a push, or in a leader's reply to a learner.
type Told struct {
	Leader string // its Raft server ID
	Term   uint64 // its Raft term; 0: it may no longer lead
	Key    string // the key that the learner sent to it, "" for none
	Voters []string
}

// Lead is the leader that a learner follows (F8). The learner calls the leader's address and sends
// a key. A push without the key is not trusted: without TLS any process can call a member and name
// a leader. The zero value follows none. It is not safe for concurrent use.
type Lead struct {
	now   Told
	heard time.Time
}

// Begin follows a leader that has replied to the call. It returns false if the learner follows a
// leader with a later term, or another one with the same term.
func (l *Lead) Begin(t Told, at time.Time) bool {
	if t.Term < l.now.Term || t.Term == l.now.Term && t.Leader != l.now.Leader {
		return false
	}
	l.now, l.heard = t, at
	return true
}

// Takes reports whether a push comes from the followed leader.
func (l *Lead) Takes(t Told, at time.Time) bool {
	if l.now.Key == "" || t.Leader != l.now.Leader || subtle.ConstantTimeCompare([]byte(t.Key), []byte(l.now.Key)) != 1 {
		return false
	}
	t.Term = max(t.Term, l.now.Term)
	l.now, l.heard = t, at
	return true
}

// Worth reports whether a leader that pushes without the key is a candidate to follow: its term is
// not earlier.
func (l *Lead) Worth(t Told) bool {
	return t.Term > l.now.Term || t.Term == l.now.Term && t.Term > 0 && t.Leader == l.now.Leader
}

// Touch returns the followed leader, "" if it has been silent for [TouchFor], and the time of its
// last push.
func (l *Lead) Touch(at time.Time) (leader string, heard time.Time) {
	if l.now.Key == "" || at.Sub(l.heard) > TouchFor {
		return "", l.heard
	}
	return l.now.Leader, l.heard
}

// VotersSince returns the voting Raft servers, none if the leader has not sent them after t.
func (l *Lead) VotersSince(t time.Time) []string {
	if !l.heard.After(t) {
		return nil
	}
	return l.now.Voters
}
