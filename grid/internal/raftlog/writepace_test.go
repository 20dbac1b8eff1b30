package raftlog

import (
	"testing"
	"time"
)

// TestWritePace: one slow write does not count, two do, and fast ones end that within some tens.
func TestWritePace(t *testing.T) {
	changes := 0
	l := &Log{}
	l.pace.onChange(func() { changes++ })
	note := func(took ...time.Duration) {
		for _, d := range took {
			l.pace.note(d)
		}
	}
	const fast = 5 * time.Millisecond
	note(fast, fast, 3*time.Second, fast)
	if got := l.Election(); got != writesPerElection*fast {
		t.Errorf("after one slow write: %v", got)
	}
	note(time.Second, 800*time.Millisecond)
	if got := l.Election(); got != writesPerElection*800*time.Millisecond {
		t.Errorf("after two slow writes: %v", got)
	}
	for range 30 {
		note(fast)
	}
	if got := l.Election(); got > writesPerElection*50*time.Millisecond {
		t.Errorf("after 30 fast writes: %v", got)
	}
	if note(time.Hour, time.Hour); l.Election() != writesPerElection*slowestWrite {
		t.Errorf("without a bound: %v", l.Election())
	}
	if before := changes; before == 0 {
		t.Error("no change was told of")
	}
	if got := (*Log)(nil).Election(); got != 0 {
		t.Errorf("without a disk: %v", got)
	}
}
