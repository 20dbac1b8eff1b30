package client

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/measure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Distribution is a histogram of durations.
type Distribution struct {
	Count   uint64        // durations
	Sum     time.Duration // all durations together
	Buckets []Bucket      // by ascending bound
}

// Bucket is one part of a [Distribution]: the number of durations up to a bound.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// Stats are a client's counts since its creation. Counts never decrease.
type Stats struct {
	ClusterTime time.Time // zero while unknown
	Members     int       // in the client's directory

	Handles    int // without Destroyed ones; each stripe of a Striped counts
	Attached   int // handles that have a logical node
	WaitingNow int // calls of Next or Fill that currently wait, for any reason
	// GrantUntil is the earliest end of a grant; zero without one.
	GrantUntil time.Time

	IDs         uint64        // issued, also by forgotten handles
	GrantWaits  uint64        // calls of Next or Fill that had to wait for a grant
	GrantWaited time.Duration // sum of those waits
	// Sequencers are the counts of the current handles, by name; the stripes of a name count
	// together.
	Sequencers []SequencerStats

	Attaches        Distribution // successful attaches, each with its retries
	AttachFailures  uint64
	Renewals        uint64 // calls that renewed grants
	RenewalFailures uint64 // calls without a reply
	NodesLost       uint64 // logical nodes that the grid gave to another holder
	// Dials are attempts to open a connection, and DialFailures the failed ones; 0 in a
	// member.
	Dials, DialFailures uint64
}

// SequencerStats are the counts of a client's handles on one name.
type SequencerStats struct {
	Name        string
	Attached    int
	IDs         uint64
	GrantWaits  uint64
	GrantWaited time.Duration
}

// Stats returns the client's counts.
func (c *Client) Stats() Stats {
	entries, past := c.handles.Counted()
	s := Stats{
		Members: len(c.Members()), IDs: past.IDs, GrantWaits: past.GrantWaits, GrantWaited: past.GrantWaited,
		AttachFailures: c.counts.attachFailures.Load(), Renewals: c.counts.renewals.Load(),
		RenewalFailures: c.counts.renewalFailures.Load(), NodesLost: c.counts.nodesLost.Load(),
	}
	s.Attaches.Count, s.Attaches.Sum, s.Attaches.Buckets = measure.Read[Bucket](&c.counts.attaches)
	if now := c.clock.Now(); now > 0 {
		s.ClusterTime = now.Time()
	}
	if c.counts.dials != nil {
		s.Dials, s.DialFailures = c.counts.dials.Dials()
	}
	at := map[string]int{}
	for _, e := range entries {
		h := e.Control.Handle()
		i, found := at[h.Name()]
		if !found {
			i = len(s.Sequencers)
			at[h.Name()] = i
			s.Sequencers = append(s.Sequencers, SequencerStats{Name: h.Name()})
		}
		s.add(&s.Sequencers[i], h)
	}
	slices.SortFunc(s.Sequencers, func(a, b SequencerStats) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// add adds a handle's counts to its name's counts and to the totals.
func (s *Stats) add(of *SequencerStats, h *sequencer.Sequencer) {
	one := h.Stats()
	of.IDs += one.IDs
	of.GrantWaits += one.GrantWaits
	of.GrantWaited += one.GrantWaited
	s.IDs += one.IDs
	s.GrantWaits += one.GrantWaits
	s.GrantWaited += one.GrantWaited
	s.WaitingNow += one.WaitingNow
	switch h.State() {
	case sequencer.Attached:
		s.Attached++
		of.Attached++
		s.Handles++
	case sequencer.Detached:
		s.Handles++
	}
	if until := one.GrantUntil; !until.IsZero() && (s.GrantUntil.IsZero() || until.Before(s.GrantUntil)) {
		s.GrantUntil = until
	}
}

// counts are a client's running counts.
type counts struct {
	attaches                  measure.Histogram
	attachFailures, nodesLost atomic.Uint64
	renewals, renewalFailures atomic.Uint64
	dials                     *calls.Pool // nil with another transport
}

// attached counts an attach, with all its tries.
func (c *counts) attached(took time.Duration, err error) {
	if err != nil {
		c.attachFailures.Add(1)
		return
	}
	c.attaches.Observe(took)
}

func (c *counts) renewed(err error) {
	c.renewals.Add(1)
	if err != nil {
		c.renewalFailures.Add(1)
	}
}
