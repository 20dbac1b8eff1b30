package api

import (
	"testing"
	"time"
)

// TestStretchCountsProcessorTime: a stretch that waits for a processor, or for anything, counts
// what it computed and not what it waited.
func TestStretchCountsProcessorTime(t *testing.T) {
	const wait = 50 * time.Millisecond
	idle := beginStretch()
	time.Sleep(wait)
	if took := idle.end(); took >= wait {
		t.Errorf("a stretch that slept for %v counts %v", wait, took)
	}
	busy := beginStretch()
	n := 0
	for began := time.Now(); time.Since(began) < time.Millisecond; n++ {
	}
	if took := busy.end(); took <= 0 {
		t.Errorf("a stretch that computed %d times counts %v", n, took)
	}
}
