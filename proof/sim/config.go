package sim

import (
	"math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Baseline is another way to own logical nodes, for contrast.
type Baseline int

// The baselines.
const (
	// Real is snowgrid itself, for comparison with the baselines.
	Real Baseline = iota
	// Quorum has each side of a grid believe in the members that it sees, while
	// they are as many as its quorum, without an agreed roster, without a floor, and
	// with a window from the member's own time as the ceiling.
	Quorum
	// Reuse grants the node of an expired session again from now on, ignoring the
	// grants of its last holder. A holder's silence is taken for its end after half a
	// window: after a whole one hardly anything granted is left to do harm.
	Reuse
)

// Config is one grid and what befalls it. Use [Draw] for one drawn from a seed.
type Config struct {
	Seed       uint64
	Baseline   Baseline
	Members    int // at the start; more may join, up to 7
	Durable    int // how many of them have a disk
	Backups    int
	Partitions int
	Window     clustertime.Span // ms
	Holders    int
	Names      int
	Nodes      int              // holders prefer nodes below this
	Step       clustertime.Tick // IDs are made at multiples of this, in ms
	Batch      int              // most IDs made at a time, but for rare full milliseconds
	Detach     float64          // chance of a detach at each look of a holder
	Destroy    float64          // the same of a destroy
	Faults     time.Duration    // mean time between two faults
	Strike     float64          // chance that an owner misses a change of its partition
	Loss       float64          // chance that a message is lost
	Twice      float64          // ... or doubled
	Slow       float64          // ... or late
	Late       time.Duration    // how late at most
	Length     time.Duration    // virtual time with faults
	Anchored   bool             // a store outside the grid limits its ceiling
	Ends       bool             // the epoch of the first name ends meanwhile
	Voters     int              // as many as there can be, 0 for the default
	Servers    int              // Raft servers of members that can do without, 0 for the default
	Zones      int              // members are in that many zones; 0 for none
	Old        bool             // members are of the release before and of the present one, in turn
	Recoveries int              // how often a majority of the voters is lost for good, at most
}

// Draw gives the grid of a seed.
func Draw(seed uint64, length time.Duration) Config {
	rng := rand.New(rand.NewPCG(seed, 0xc0f16))
	some := func(low, high int) int { return low + rng.IntN(high-low+1) }
	c := Config{
		Seed: seed, Members: some(1, 7), Backups: some(0, 3), Partitions: some(1, 8),
		Window: clustertime.Span(some(5, 20)) * 1000, Holders: some(2, 30), Names: some(1, 4), Nodes: some(2, 16),
		Step: clustertime.Tick(some(1, 4)) * 250, Batch: some(1, 64),
		Detach: rng.Float64() * rng.Float64() * 0.05, Destroy: rng.Float64() * rng.Float64() * 0.002,
		Faults: time.Duration(some(1000, 8000)) * time.Millisecond,
		Strike: rng.Float64() * rng.Float64() * 0.3,
		Loss:   rng.Float64() * rng.Float64() * 0.1, Twice: rng.Float64() * 0.05, Slow: rng.Float64() * rng.Float64() * 0.05,
		Late: time.Duration(some(2, 180)) * time.Second, Length: length,
	}
	switch some(0, 2) {
	case 0:
		c.Durable = c.Members
	case 1:
		c.Durable = some(0, c.Members)
	}
	c.Ends = some(0, 9) == 0
	c.Voters = roster.StoredVoters(1 + 2*some(0, 3))
	if some(0, 1) == 0 {
		c.Zones = some(1, 4)
	}
	c.Old = c.Voters == 0 && some(0, 2) == 0
	if some(0, 1) == 0 { // others are learners
		c.Servers = some(1, 5)
	}
	return c
}
