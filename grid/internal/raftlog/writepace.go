package raftlog

import (
	"sync"
	"time"
)

// A vote takes several writes, one after the other: the candidate stores the next term and its own vote,
// and each voter the term and its vote. With a disk that takes half a second for each, as a throttled
// volume does, no election would end in the time that is enough for a fast one, and each candidate would
// take the vote from the one before. So elections wait for as long as writes take at present.

const (
	// writesPerElection is an upper estimate of sequential writes between a candidacy and its last vote.
	writesPerElection = 6
	// slowestWrite bounds the time that is awaited for each.
	slowestWrite = 4 * time.Second
)

// writePace measures the current write time: the shorter of the last two, since one slow write means
// little, decreasing by a tenth with each faster write.
type writePace struct {
	mu      sync.Mutex // guards the fields below
	last    time.Duration
	present time.Duration
	changed func() // called after each write that changes it, nil for none
}

func (w *writePace) note(took time.Duration) {
	w.mu.Lock()
	before, changed := w.present, w.changed
	w.present = max(min(took, w.last), before*9/10)
	w.last = took
	now := w.present
	w.mu.Unlock()
	if changed != nil && now != before {
		changed()
	}
}

func (w *writePace) onChange(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed = f
}

// Election returns how long an election's writes may take at present, 0 for a member without a disk.
func (l *Log) Election() time.Duration {
	if l == nil {
		return 0
	}
	l.pace.mu.Lock()
	defer l.pace.mu.Unlock()
	return writesPerElection * min(l.pace.present, slowestWrite)
}
