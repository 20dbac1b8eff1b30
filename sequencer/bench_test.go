package sequencer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// hastyClock is the monotonic clock with milliseconds that last a sixteenth as long, so
// that a benchmark measures the cost of an ID and not the limit of the ID space.
type hastyClock struct{ started time.Time }

const haste = 16

func (c hastyClock) Read() (clustertime.Tick, time.Duration, time.Duration) {
	mono := time.Since(c.started)
	passed := mono * haste
	lasts := (time.Millisecond - passed%time.Millisecond) / haste
	return 1<<40 + clustertime.Tick(passed/time.Millisecond), lasts, mono
}

func (c hastyClock) Now() clustertime.Tick {
	now, _, _ := c.Read()
	return now
}

func (c hastyClock) Wait(ctx context.Context, until clustertime.Tick, _ <-chan struct{}) error {
	for c.Now() < until && ctx.Err() == nil {
		time.Sleep(time.Until(c.started.Add(until.Sub(1<<40).Duration() / haste)))
	}
	return ctx.Err()
}

func benchmarkHandles(b *testing.B, run func(*testing.B, *Sequencer)) {
	for _, nodes := range []int{128, 1024} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			def, err := Define("orders", Config{Nodes: nodes, Epoch: -1_000_000_000_000})
			if err != nil {
				b.Fatal(err)
			}
			clock := hastyClock{started: time.Now()}
			backend := &fakeBackend{grant: bridge.Grant{From: 0, Until: 1 << 41}}
			s, _ := newSequencer(def, bridge.Life{1}, backend, clock)
			if err := s.AttachLogicalNode(b.Context()); err != nil {
				b.Fatal(err)
			}
			run(b, s)
		})
	}
}

func BenchmarkNext(b *testing.B) {
	benchmarkHandles(b, func(b *testing.B, s *Sequencer) {
		ctx := b.Context()
		for b.Loop() {
			if _, err := s.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFill fills 64 IDs at a time.
func BenchmarkFill(b *testing.B) {
	benchmarkHandles(b, func(b *testing.B, s *Sequencer) {
		ids := make([]ID, 64)
		for b.Loop() {
			if _, err := s.Fill(b.Context(), ids); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var sink ID

func BenchmarkExpand(b *testing.B) {
	def, err := Define("orders", Config{})
	if err != nil {
		b.Fatal(err)
	}
	l := def.layout.line(100)
	slot := int64(0)
	for b.Loop() {
		sink = l.expand(slot)
		slot++
	}
}
