package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRepairWithAnImpossibleVersion: a version that another process states, and that no count of takes comes
// to, is not written into a repaired record.
func TestRepairWithAnImpossibleVersion(t *testing.T) {
	for _, version := range []uint64{1<<63 - 1, 1 << 63, 1<<64 - 1} {
		inBubble(t, func(b *bench) {
			c := b.client(func(cfg *Config) { cfg.Known = func() map[int]uint64 { return map[int]uint64{1: version} } })
			b.create(c)
			time.Sleep(2 * time.Second)
			if b.record(0).Known[1] != version {
				b.Fatalf("%+v", b.record(0))
			}
			b.remove(record.KeysOf("", "orders").Record(1))
			if err := c.Repair(b.Context(), "orders", 1, bubbleClock()); err != nil {
				b.Fatal(err)
			}
			if h := b.create(b.client()); node(b, h) != 1 || b.record(1).Version != 1 {
				b.Errorf("node %d, %+v", node(b, h), b.record(1))
			}
		})
	}
}

// TestServerNamesAreChecked: a store whose server has a name for which a record has no room is refused, also if it
// takes another server's place.
func TestServerNamesAreChecked(t *testing.T) {
	inBubble(t, func(b *bench) {
		long, short := strings.Repeat("x", 129), strings.Repeat("x", 128)
		empty, binary := "", "\xff"
		s := &servers{Memory: NewMemory(), lossy: true}
		b.store = s
		bounded := func(cfg *Config) { cfg.FailoverBound = time.Second }
		for _, name := range []*string{&long, &empty, &binary} {
			s.name.Store(name)
			_, err := b.tryClient(bounded)
			b.wants(err, sequencer.ErrInvalidConfig)
			if err == nil || !strings.Contains(err.Error(), "give 1 to 128 of UTF-8") {
				b.Errorf("%q: got %v", *name, err)
			}
		}
		s.name.Store(&short)
		c := b.client(bounded)
		b.next(b.create(c))
		s.name.Store(&long)
		_, err := c.CreateSequencer(b.Context(), "others", sequencer.Config{})
		b.wants(err, sequencer.ErrInvalidConfig)
	})
}

// TestAdoptedRecordsOutsideTheRange: records that another program made beyond the sequencer's nodes are not
// counted.
func TestAdoptedRecordsOutsideTheRange(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store = emptied{NewMemory()}
		for _, key := range []string{"orders/0.json", "orders/1.json", "orders/2.json", "orders/node-ids-initialized"} {
			e := Entry{Key: key, Body: []byte(emptyBody), Meta: map[string]string{"version": "1"}}
			if _, err := b.store.Swap(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
		c := b.client()
		cfg := sequencer.Config{Nodes: 128, NodeRange: sequencer.NodeRange{Lo: 0, Hi: 1}}
		if _, err := c.CreateSequencer(b.Context(), "orders", cfg); err != nil {
			b.Fatal(err)
		}
		if s, err := c.Status(b.Context(), "orders"); err != nil || s.Slots != 2 || len(s.Records) != 2 {
			b.Errorf("status %+v, %v", s, err)
		}
		b.wants(c.Retire(b.Context(), "orders", 2), sequencer.ErrInvalidConfig)
	})
}

// TestEarlierLifeFarAhead: a life that a wrong clock has granted far ahead ends with a mark there. The errors of the
// next life name that mark, and no repair that would have no effect.
func TestEarlierLifeFarAhead(t *testing.T) {
	inBubble(t, func(b *bench) {
		fast := b.client(fastClock)
		b.create(fast)
		_ = fast.Close()
		c := b.client()
		if err := c.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Fatal(err)
		}
		_, err := c.CreateSequencer(b.within(10*time.Second), "orders", sequencer.Config{})
		b.wants(err, sequencer.ErrNoFreeNode)
		repaired := c.Repair(b.Context(), "orders", 0, bubbleClock())
		b.wants(repaired, sequencer.ErrConflict)
		for _, err := range []error{err, repaired} {
			if err == nil || !strings.Contains(err.Error(), "an earlier life was granted up to 20") ||
				!strings.Contains(err.Error(), "or use another name") {
				b.Errorf("got %v", err)
			}
		}
	})
}

// TestDestroyAndScaleWithAnOlderList: records that a listing shows in an earlier life are read again before they
// count as damaged.
func TestDestroyAndScaleWithAnOlderList(t *testing.T) {
	inBubble(t, func(b *bench) {
		older := &olderList{Memory: NewMemory()}
		b.store = older
		c := b.client()
		b.create(c)
		listed, err := older.Memory.List(b.Context(), "orders/")
		if err != nil {
			b.Fatal(err)
		}
		if err := c.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Fatal(err)
		}
		b.create(c)
		older.shown = listed
		for _, slots := range []int{1, 4} {
			if err := c.Scale(b.Context(), "orders", slots); err != nil {
				b.Error(err)
			}
		}
		if err := c.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Error(err)
		}
	})
}

// olderMarker is a store that shows an earlier marker at the first read of it.
type olderMarker struct {
	*Memory
	shown *Entry
}

func (o *olderMarker) Load(ctx context.Context, key string) (Entry, error) {
	if e := o.shown; e != nil && key == e.Key {
		o.shown = nil
		return *e, nil
	}
	return o.Memory.Load(ctx, key)
}

// TestRetireWithAnOlderMarker: a node is compared with the nodes of its own life, also if the store shows the marker
// of the life before.
func TestRetireWithAnOlderMarker(t *testing.T) {
	inBubble(t, func(b *bench) {
		older := &olderMarker{Memory: NewMemory()}
		b.store = older
		c, one := b.client(), b.client(func(cfg *Config) { cfg.Pool = 1 })
		b.create(c)
		marker, err := older.Memory.Load(b.Context(), record.KeysOf("", "orders").Marker())
		if err != nil {
			b.Fatal(err)
		}
		if err := c.DestroySequencer(b.Context(), "orders"); err != nil {
			b.Fatal(err)
		}
		cfg := sequencer.Config{Nodes: 128, NodeRange: sequencer.NodeRange{Lo: 4, Hi: 7}}
		if _, err := one.CreateSequencer(b.Context(), "orders", cfg); err != nil {
			b.Fatal(err)
		}
		older.shown = &marker
		b.wants(c.Retire(b.Context(), "orders", 6), sequencer.ErrInvalidConfig)
		if older.shown != nil {
			b.Error("the marker was not read")
		}
	})
}
