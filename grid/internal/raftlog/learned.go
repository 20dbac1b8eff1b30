package raftlog

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

// learned is the leader that this member follows if its Raft server is in no configuration.
type learned struct {
	mu   sync.Mutex // guards lead
	lead follow.Lead
}

// Push is a leader's push, or its answer to a learner that begins to follow it.
type Push struct {
	follow.Told
	Entries []follow.Entry
	Image   follow.Image
	// Time is the leader's present cluster time, 0 if unknown or outdated.
	Time clustertime.Tick
}

func (l *learned) begin(p Push) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lead.Begin(p.Told, time.Now())
}

// takes reports whether a push counts, and otherwise whether its sender may be one to follow.
func (l *learned) takes(p Push) (takes, worth bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lead.Takes(p.Told, time.Now()), l.lead.Worth(p.Told)
}

func (l *learned) touch() (leader raft.ServerID, heard time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, heard := l.lead.Touch(time.Now())
	return raft.ServerID(id), heard
}

func (l *learned) votersSince(t time.Time) (voters []raft.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.lead.VotersSince(t) {
		voters = append(voters, raft.Server{ID: raft.ServerID(id), Suffrage: raft.Voter})
	}
	return voters
}
