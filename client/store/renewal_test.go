package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
)

// marks is a store that compares the mark of each write with the record that it replaces.
type marks struct {
	*Memory
	b        *bench
	mu       sync.Mutex
	renewals int
}

func (m *marks) Swap(ctx context.Context, e Entry) (Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, err := m.Load(ctx, e.Key)
	revision, failed := m.Memory.Swap(ctx, e)
	is := false
	if old, damaged := record.Decode(before.Body, nil); err == nil && damaged == nil && failed == nil {
		next, damaged := record.Decode(e.Body, nil)
		is = damaged == nil && old.State == record.Held && next.HeldBy(old.Attachment)
	}
	if failed == nil && is != e.Renewal {
		m.b.Errorf("%s: a renewal: %v; marked: %v: %s after %s", e.Key, is, e.Renewal, e.Body, before.Body)
	}
	if is {
		m.renewals++
	}
	return revision, failed
}

// TestRenewalsAreMarked: every write that prolongs its holder's grant has the mark, and no other.
func TestRenewalsAreMarked(t *testing.T) {
	inBubble(t, func(b *bench) {
		m := &marks{Memory: NewMemory(), b: b}
		b.store = m
		c, operator := b.client(), b.client()
		h := b.create(c)
		for range 3 {
			b.next(h)
			time.Sleep(3 * time.Second)
			if err := operator.Retire(b.Context(), "orders", node(b, h)); err != nil {
				b.Fatal(err)
			}
			if err := operator.Scale(b.Context(), "orders", 4); err != nil {
				b.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			if err := h.DetachLogicalNode(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := h.AttachLogicalNode(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		if err := h.Destroy(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.next(b.create(c))
		if m.renewals < 12 {
			b.Errorf("%d renewals in 18 s with a window of 3 s", m.renewals)
		}
		e, err := m.Load(b.Context(), record.KeysOf("", "orders").Record(0))
		if err != nil || e.Renewal {
			b.Errorf("a read entry is marked: %v, %v", e.Renewal, err)
		}
	})
}
