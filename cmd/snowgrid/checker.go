package main

import (
	"fmt"
	"sync"

	"github.com/snowgrid/snowgrid/sequencer"
)

// checker detects every duplicate ID in little memory.
//
// It does not store IDs. A stream is the sequence returned by one handle and must ascend, so a stream
// has no duplicates. Two streams of one sequencer can collide only if both used the same millisecond
// of the same logical node. So a stream's first ID in a millisecond of a node claims that millisecond,
// and a second claim, necessarily by another stream, is an error. This detects every duplicate, and
// also its precondition: a millisecond granted to two holders.
//
// A claim is one bit, kept until the end: 8 KiB per node and 65 seconds, about half a megabyte per
// hour.
type checker struct {
	mu     sync.Mutex
	claims map[claimsKey]*claims
	found  verdict
}

// verdict is a checker's result so far.
type verdict struct {
	ids        uint64
	duplicates uint64 // IDs that another stream may have returned too, or this one before
	disorder   uint64 // IDs that are not larger than the one before them
	findings   []string
}

// clean reports whether every ID was unique and every stream ascended.
func (v verdict) clean() bool { return v.duplicates == 0 && v.disorder == 0 }

// claimsKey identifies a time range in one logical node.
type claimsKey struct {
	sequencer string
	node      sequencer.NodeID
	stretch   int64 // Unix milliseconds / claimsBits
}

// claimsBits is a stretch's length in milliseconds.
const claimsBits = 1 << 16

// claims has a bit for each millisecond in a stretch.
type claims [claimsBits / 64]uint64

// claim sets a bit and reports whether it was clear before.
func (c *claims) claim(ms int64) bool {
	word, bit := ms%claimsBits/64, uint64(1)<<(ms%64)
	fresh := c[word]&bit == 0
	c[word] |= bit
	return fresh
}

// findingsMax bounds the findings kept as text; all are counted.
const findingsMax = 10

func newChecker() *checker { return &checker{claims: map[claimsKey]*claims{}} }

// checkedStream is the checker's state for one handle's IDs.
type checkedStream struct {
	holder     string // for the findings
	definition sequencer.Definition
	last       sequencer.ID
	started    bool
	node       sequencer.NodeID // of last
	ms         int64            // of last
	owned      bool             // the stream claimed the millisecond of last first
}

// observe takes a stream's next IDs, in the order in which they were returned.
func (c *checker) observe(s *checkedStream, ids []sequencer.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.observeOne(s, id)
	}
	c.found.ids += uint64(len(ids))
}

func (c *checker) observeOne(s *checkedStream, id sequencer.ID) {
	parts := s.definition.Decompose(id)
	ms := parts.Time.UnixMilli()
	switch {
	case s.started && id <= s.last:
		c.found.disorder++
		c.find("%s: %s got %d after %d", s.definition.Name(), s.holder, id, s.last)
		s.owned = false // counts as a duplicate, since it may be one of this stream's own
	case !s.started || ms != s.ms || parts.Node != s.node:
		s.owned = c.claimsOf(s.definition.Name(), parts.Node, ms).claim(ms)
		if !s.owned {
			c.find("%s: %s used node %d at %d ms, which another holder used before",
				s.definition.Name(), s.holder, parts.Node, ms)
		}
	}
	if !s.owned {
		c.found.duplicates++
	}
	s.started, s.last, s.ms, s.node = true, id, ms, parts.Node
}

func (c *checker) claimsOf(name string, node sequencer.NodeID, ms int64) *claims {
	key := claimsKey{sequencer: name, node: node, stretch: ms / claimsBits}
	found := c.claims[key]
	if found == nil {
		found = new(claims)
		c.claims[key] = found
	}
	return found
}

func (c *checker) find(format string, args ...any) {
	if len(c.found.findings) < findingsMax {
		c.found.findings = append(c.found.findings, fmt.Sprintf(format, args...))
	}
}

func (c *checker) verdict() verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}
