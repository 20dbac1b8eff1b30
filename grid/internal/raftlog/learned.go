package raftlog

import (
	"crypto/subtle"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/roster/follow"
)

// A member whose Raft server is in no configuration is a learner: it hears of committed rosters
// by the pushes of the leader alone. It begins to follow a leader by a call of its own, to the
// address that it knows of that one, and states a key. A push without the key is not
// believed: in clear text any process can call a member, and name a leader.

// learnedTouch is how long a learner counts itself in touch with a leader that does not push.
const learnedTouch = 3 * time.Second

// learned is the leader that a learner follows. Its zero value follows none.
type learned struct {
	mu     sync.Mutex // guards what follows
	leader raft.ServerID
	term   uint64
	key    string
	heard  time.Time
	voters []raft.Server // as the leader told
}

// Push is a push of a leader, or its answer to a learner that begins to follow it.
type Push struct {
	Leader  raft.ServerID
	Term    uint64 // 0: it may lead no longer
	Key     string // "" for none
	Entries []follow.Entry
	Image   follow.Image
	// Age is that of the newest raise at most, negative if it is not known.
	Age    time.Duration
	Voters []raft.ServerID
}

// begin follows a leader from now on, unless that of the same or a later term is followed.
func (l *learned) begin(p Push) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Term < l.term || p.Term == l.term && p.Leader != l.leader {
		return false
	}
	l.leader, l.term, l.key, l.heard = p.Leader, p.Term, p.Key, time.Now()
	l.note(p)
	return true
}

// takes reports whether a push is by the leader that is followed.
func (l *learned) takes(p Push) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" || p.Leader != l.leader || subtle.ConstantTimeCompare([]byte(p.Key), []byte(l.key)) != 1 {
		return false
	}
	l.term, l.heard = max(l.term, p.Term), time.Now()
	l.note(p)
	return true
}

// note takes over which servers vote. mu must be held.
func (l *learned) note(p Push) {
	l.voters = nil
	for _, id := range p.Voters {
		l.voters = append(l.voters, raft.Server{ID: id, Suffrage: raft.Voter})
	}
}

// worth reports whether a leader that pushes without the key may be one to follow: not one of
// an earlier term.
func (l *learned) worth(p Push) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.Term > l.term || p.Term == l.term && p.Term > 0 && p.Leader == l.leader
}

// touch returns the leader that is followed, "" if it has been silent for too long, and when
// it pushed last.
func (l *learned) touch() (raft.ServerID, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" || time.Since(l.heard) > learnedTouch {
		return "", l.heard
	}
	return l.leader, l.heard
}

// votersSince returns which servers vote, none if the leader has not told after a time.
func (l *learned) votersSince(t time.Time) []raft.Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.heard.After(t) {
		return nil
	}
	return l.voters
}
