package sim

import (
	"math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Baseline is another way to own logical nodes, for comparison.
type Baseline int

// The baselines.
const (
	// Real is snowgrid itself, for comparison with the baselines.
	Real Baseline = iota
	// Quorum lets each side of a partitioned grid trust the members that it reaches while they are
	// a quorum. It has no agreed roster and no floor. Its ceiling is the member's own time plus a
	// window.
	Quorum
	// Reuse grants an expired session's node again immediately, and ignores the last holder's
	// grants. It treats half a window without claims as the holder's end: after a whole window,
	// hardly any grant remains to conflict with.
	Reuse
)

// Config describes one grid and its faults. [Draw] derives one from a seed.
type Config struct {
	Seed       uint64
	Baseline   Baseline
	Members    int // at the start; more may join, up to 7
	Durable    int // number of initial members with a disk
	Backups    int
	Partitions int
	Window     clustertime.Span // in ms
	Holders    int
	Names      int
	Nodes      int              // holders prefer nodes below this number
	Step       clustertime.Tick // timestamps for IDs are multiples of this, in ms
	Batch      int              // most IDs generated together, except for rare full milliseconds
	Detach     float64          // probability that a user detaches, per check
	Destroy    float64          // probability that a user destroys, per check
	Faults     time.Duration    // mean time between two faults
	Strike     float64          // probability that an owner misses a change to its partition
	Loss       float64          // probability that a message is lost
	Twice      float64          // ... duplicated
	Slow       float64          // ... late
	Late       time.Duration    // longest delay for a message
	Length     time.Duration    // virtual time with faults
	Anchored   bool             // a store outside the grid limits its ceiling
	Ends       bool             // the first name's epoch ends during the run
	Voters     int              // highest number of voters; 0 for the default
	Servers    int              // highest number of Raft servers for staying members; 0 for the default
	Zones      int              // number of zones; 0 for none
	Old        bool             // some members run the previous release at times
	Recoveries int              // highest number of permanent majority losses
	Generators int              // processes in another language, under grants over HTTP
}

// Draw derives a configuration from a seed.
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
	if some(0, 1) == 0 { // the other members are learners
		c.Servers = some(1, 5)
	}
	return c
}
