package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// stage is a machine with handles on a grid that answers whatever a test says. Its
// cluster time is its monotonic time, from start on.
type stage struct {
	m       *Machine
	mono    time.Duration
	known   bool // the cluster time
	skew    clustertime.Span
	names   []string // of handles, in the order of their making
	handles map[string]*Handle
	answer  attachment.Attachment // of the next attach
	refuses error                 // or why there is none
	attach  uint8

	renewals []*Renewal // calls without an answer
}

const start = 1_800_000_000_000

func newStage() *stage {
	rand := func(time.Duration) time.Duration { return 0 }
	return &stage{m: New(Config{Addrs: []string{"any"}, Rand: rand}), handles: map[string]*Handle{}}
}

// directory is one of four partitions.
func (s *stage) directory(version uint64, owners ...string) Directory {
	return Directory{Grid: roster.GridID{1}, Version: roster.Version(version), Window: 20 * time.Second,
		Members: []string{"a", "b"}, Owners: owners}
}

func (s *stage) now() Now {
	if !s.known {
		return Now{Mono: s.mono}
	}
	return Now{Mono: s.mono, Time: s.tick()}
}

func (s *stage) tick() clustertime.Tick {
	return clustertime.Tick(start).Add(s.skew + clustertime.SpanOf(s.mono))
}

func (s *stage) stamp(version uint64) Stamp {
	return Stamp{Grid: roster.GridID{1}, Version: roster.Version(version), Time: s.tick()}
}

// make makes a handle on a life of a name.
func (s *stage) make(name string, life byte, attaches, stripe bool) *Handle {
	def, err := sequencer.Define(name, sequencer.Config{})
	if err != nil {
		panic(err)
	}
	_, control := attachment.New(attachment.Ref{Definition: def, Life: attachment.Life{life}}, s, s)
	return s.m.Add(s.now(), control, s.stamp(5), attaches, stripe)
}

// attached attaches a handle to a node, under a grant of a window.
func (s *stage) attached(h *Handle, node sequencer.NodeID) attachment.Attachment {
	s.attach++
	s.answer = attachment.Attachment{ID: attachment.ID{s.attach}, Node: node, Grant: s.grant()}
	s.refuses = nil
	s.m.Attached(s.now(), h, s.answer, s.stamp(5), s.mono)
	if err := h.Control.Handle().AttachLogicalNode(context.Background()); err != nil {
		panic(err)
	}
	return s.answer
}

func (s *stage) grant() attachment.Grant {
	return attachment.Grant{From: s.tick(), Until: s.tick() + 20_000}
}

// Attach implements attachment.Backend.
func (s *stage) Attach(context.Context, attachment.Ref, attachment.Preference) (attachment.Attachment, error) {
	return s.answer, s.refuses
}

// Detach implements attachment.Backend.
func (s *stage) Detach(context.Context, attachment.Ref, attachment.Release) error { return nil }

// Destroy implements attachment.Backend.
func (s *stage) Destroy(context.Context, attachment.Ref) error { return nil }

// Now, Read and Wait implement attachment.Clock.
func (s *stage) Now() clustertime.Tick { return s.now().Time }
func (s *stage) Read() (now clustertime.Tick, lasts, mono time.Duration) {
	return s.Now(), 0, 0
}
func (s *stage) Wait(context.Context, clustertime.Tick, <-chan struct{}) error {
	return errors.New("nothing waits here")
}

// ready returns a stage with a directory that names one owner of everything, and a handle
// that is attached.
func ready(t *testing.T) (*stage, *Handle) {
	t.Helper()
	s := newStage()
	s.known = true
	s.m.Adopt(s.now(), s.directory(5, "a", "a", "a", "a"), 0, s.tick())
	h := s.make("orders", 1, true, false)
	s.attached(h, 3)
	s.m.Take()
	return s, h
}
