package follow

import (
	"crypto/subtle"
	"time"
)

// TouchFor is the time for which a learner counts as in touch with a leader that does not push.
const TouchFor = 3 * time.Second

// Told is the part of a push, or of a leader's answer to a learner, that identifies the sender.
type Told struct {
	Leader string // its Raft server ID
	Term   uint64 // in which it leads; 0: it may lead no longer
	Key    string // that the learner stated to it, "" for none
	Voters []string
}

// Lead is the leader that a learner follows (F8). The learner calls the leader's address and sends
// a key. A push without the key is not trusted, since in clear text any process can call a member,
// and name a leader. The zero value follows none. It is not safe for concurrent use.
type Lead struct {
	now   Told
	heard time.Time
}

// Begin follows a leader that has answered the call, unless the learner follows a leader with a
// later term, or another one with the same term.
func (l *Lead) Begin(t Told, at time.Time) bool {
	if t.Term < l.now.Term || t.Term == l.now.Term && t.Leader != l.now.Leader {
		return false
	}
	l.now, l.heard = t, at
	return true
}

// Takes reports whether a push is by the leader that is followed.
func (l *Lead) Takes(t Told, at time.Time) bool {
	if l.now.Key == "" || t.Leader != l.now.Leader || subtle.ConstantTimeCompare([]byte(t.Key), []byte(l.now.Key)) != 1 {
		return false
	}
	t.Term = max(t.Term, l.now.Term)
	l.now, l.heard = t, at
	return true
}

// Worth reports whether a leader that pushes without the key may be one to follow: one without an
// earlier term.
func (l *Lead) Worth(t Told) bool {
	return t.Term > l.now.Term || t.Term == l.now.Term && t.Term > 0 && t.Leader == l.now.Leader
}

// Touch returns the leader that is followed, "" if it has been silent for [TouchFor], and when
// it pushed last.
func (l *Lead) Touch(at time.Time) (leader string, heard time.Time) {
	if l.now.Key == "" || at.Sub(l.heard) > TouchFor {
		return "", l.heard
	}
	return l.now.Leader, l.heard
}

// VotersSince returns the Raft servers that vote, none if the leader has not sent them after a
// time.
func (l *Lead) VotersSince(t time.Time) []string {
	if !l.heard.After(t) {
		return nil
	}
	return l.now.Voters
}
