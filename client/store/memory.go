package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Memory is a store inside the process, for tests and for trying things out. The zero value
// is an empty store, as [NewMemory] returns.
type Memory struct {
	mu      sync.Mutex
	entries map[string]Entry
	writes  uint64 // names revisions
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{entries: map[string]Entry{}} }

// String names the store in messages.
func (m *Memory) String() string { return "memory of this process" }

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, key string) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok {
		return Entry{}, fmt.Errorf("store: load %q: %w", key, ErrNoRecord)
	}
	return e.clone(), nil
}

// Swap implements [Store].
func (m *Memory) Swap(ctx context.Context, e Entry) (Revision, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := e.check(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if have := m.entries[e.Key].Revision; have != e.Revision {
		return "", fmt.Errorf("store: swap %q: at revision %q, not %q: %w", e.Key, have, e.Revision, ErrChanged)
	}
	if m.entries == nil {
		m.entries = map[string]Entry{} // of the zero value
	}
	m.writes++
	e = e.clone()
	e.Renewal = false
	e.Revision = Revision(strconv.FormatUint(m.writes, 10))
	m.entries[e.Key] = e
	return e.Revision, nil
}

// Delete removes a key, as an operator by mistake would.
func (m *Memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, key)
	return nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, prefix string) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Entry
	for _, key := range slices.Sorted(maps.Keys(m.entries)) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, m.entries[key].clone())
		}
	}
	return found, nil
}

// clone returns a copy that shares nothing with e.
func (e Entry) clone() Entry {
	e.Body, e.Meta = slices.Clone(e.Body), maps.Clone(e.Meta)
	return e
}

const (
	keyMax  = 1000     // bytes of a key
	bodyMax = 64 << 10 // bytes of a body
)

// check returns why an entry cannot be written.
func (e Entry) check() error {
	switch {
	case e.Key == "" || len(e.Key) > keyMax:
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: swap %.100q: a key of %d bytes; keys have 1 to %d", e.Key,
			len(e.Key), keyMax)
	case len(e.Body) == 0 || len(e.Body) > bodyMax:
		return failure.Errorf(sequencer.ErrInvalidConfig, "store: swap %.100q: a body of %d bytes; bodies have 1 to %d",
			e.Key, len(e.Body), bodyMax)
	}
	return nil
}
