package grid

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// VoterClock is a voter's clock as the leader has read it.
type VoterClock struct {
	Member string
	// Offset is the lead of the voter's wall clock over cluster time, to half of the call's round
	// trip.
	Offset time.Duration
}

// voterClocksAge is the age from which on a reading of a clock is no longer reported.
const voterClocksAge = 10 * time.Second

// voterClocks are the newest readings of the voters' clocks, while this member leads.
type voterClocks struct {
	mu sync.Mutex // never held while waiting
	of map[roster.Incarnation]clockReading
}

type clockReading struct {
	offset time.Duration
	at     time.Duration // by this member's monotonic clock
}

func (c *voterClocks) note(of roster.Incarnation, offset, now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[roster.Incarnation]clockReading{}
	}
	c.of[of] = clockReading{offset, now}
}

// forget forgets all readings: another member leads.
func (c *voterClocks) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = nil
}

// read returns the readings, by member, and drops old ones.
func (c *voterClocks) read(now time.Duration) []VoterClock {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []VoterClock
	for member, r := range c.of {
		if now-r.at > voterClocksAge {
			delete(c.of, member)
			continue
		}
		out = append(out, VoterClock{string(member), r.offset})
	}
	slices.SortFunc(out, func(a, b VoterClock) int { return cmp.Compare(a.Member, b.Member) })
	return out
}
