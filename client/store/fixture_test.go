package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Tests run in bubbles of testing/synctest, whose clock begins in 2000.
var bubbleAhead = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

// bench is a store with its clients, and every ID that they issued.
type bench struct {
	*testing.T
	store  Store
	mu     sync.Mutex
	issued map[sequencer.ID]bool
	open   []*Client
}

// inBubble runs f on a bench over a store in memory. All clients are closed at its end.
func inBubble(t *testing.T, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, store: NewMemory(), issued: map[sequencer.ID]bool{}}
		defer func() {
			for _, c := range b.open {
				_ = c.Close()
			}
		}()
		f(b)
	})
}

// client opens a client with a window of 3 s, 4 slots and changes to that.
func (b *bench) client(change ...func(*Config)) *Client {
	b.Helper()
	c, err := b.tryClient(change...)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func (b *bench) tryClient(change ...func(*Config)) (*Client, error) {
	cfg := Config{Window: 3 * time.Second, Pool: 4, Clock: bubbleClock}
	for _, f := range change {
		f(&cfg)
	}
	c, err := open(b.Context(), b.store, cfg, handles.NewExactClock())
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open = append(b.open, c)
	}
	return c, err
}

func bubbleClock() time.Time { return time.Now().Add(bubbleAhead) }

// create creates "orders".
func (b *bench) create(c *Client) *sequencer.Sequencer {
	b.Helper()
	s, err := c.CreateSequencer(b.Context(), "orders", sequencer.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// next takes an ID, which must be a new one.
func (b *bench) next(s *sequencer.Sequencer) sequencer.ID {
	b.Helper()
	id, err := s.Next(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.note(id)
	return id
}

func (b *bench) note(id sequencer.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.issued[id] {
		b.Errorf("ID %d was issued twice", id)
	}
	b.issued[id] = true
}

// within returns a context that ends after d.
func (b *bench) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), d)
	b.Cleanup(cancel)
	return ctx
}

func (b *bench) wants(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("got %v, not %v", err, want)
	}
}

// record reads the record of a node of "orders".
func (b *bench) record(node sequencer.NodeID) record.Record {
	b.Helper()
	e, err := b.store.Load(b.Context(), record.KeysOf("", "orders").Record(node))
	if err != nil {
		b.Fatal(err)
	}
	r, err := record.Decode(e.Body, e.Meta)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// keys returns the keys of the store.
func (b *bench) keys() (keys []string) {
	b.Helper()
	all, err := b.store.List(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	return keys
}

func node(t testing.TB, s *sequencer.Sequencer) sequencer.NodeID {
	t.Helper()
	n, attached := s.LogicalNode()
	if !attached {
		t.Fatal("no logical node")
	}
	return n
}
