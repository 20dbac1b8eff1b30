package client

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

func TestDestroyedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c, other := f.dial(t), f.dial(t)
		h := create(t, c, "orders")
		works(t, h)
		synctest.Wait()
		if err := other.DestroySequencer(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if h.State() != sequencer.Destroyed {
			t.Errorf("the handle is %v", h.State())
		}
		if n := len(f.made(wire.PathDetach)); n != 1 {
			t.Errorf("its logical node was given back %d times", n)
		}
		next := create(t, c, "orders")
		if next == h {
			t.Error("a destroyed handle came back")
		}
		time.Sleep(15 * time.Second) // no holder was asked, so all grants count as used
		works(t, next)
		wants(t, other.DestroySequencer(t.Context(), "missing"), sequencer.ErrNotFound)
		if err := next.Destroy(t.Context()); err != nil || next.State() != sequencer.Destroyed {
			t.Errorf("%v; the handle is %v", err, next.State())
		}
	})
}

// TestManyDestroyedAtOnce: their logical nodes go back a few at a time.
func TestManyDestroyedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		const many = 500
		for i := range many {
			create(t, c, "s"+strconv.Itoa(i))
		}
		under := make(chan struct{}, many)
		most := 0
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathDetach {
				under <- struct{}{}
				f.set(func() { most = max(most, len(under)) })
				time.Sleep(100 * time.Millisecond)
				<-under
			}
			return nil
		})
		synctest.Wait() // until the stream stands: without it, renewals tell of the ends, later
		f.set(func() {
			for i := range many {
				if err := f.destroy("s"+strconv.Itoa(i), attachment.Life{}); err != nil {
					t.Error(err)
				}
			}
		})
		time.Sleep(5 * time.Second)
		if n := len(f.made(wire.PathDetach)); n != many || most != handles.ReleasesMax || len(c.handles.All()) != 0 {
			t.Errorf("%d released, %d concurrently, %d handles kept", n, most, len(c.handles.All()))
		}
	})
}

// TestMissedDestroy: a reconnected stream has everything renewed, and the answers report
// the changes meanwhile.
func TestMissedDestroy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		time.Sleep(time.Second)
		var deaf map[string]*fakeStream
		f.set(func() {
			deaf, f.streams = f.streams, map[string]*fakeStream{} // events go nowhere
			if err := f.destroy("orders", attachment.Life{}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if h.State() != sequencer.Attached {
			t.Fatalf("the handle is %v without an event", h.State())
		}
		for _, s := range deaf {
			s.end()
		}
		time.Sleep(50 * time.Millisecond)
		if h.State() != sequencer.Destroyed {
			t.Errorf("the handle is %v", h.State())
		}
	})
}

func TestStreamsReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		create(t, c, "orders")
		time.Sleep(5 * time.Second) // in which a first renewal that crossed the attach is made good
		f.set(func() { f.calls = nil })
		f.cutStreams()
		time.Sleep(50 * time.Millisecond)
		if n, m := len(f.made(wire.PathEvents)), len(f.made(wire.PathRenew)); n != 1 || m != 1 {
			t.Errorf("%d streams and %d renewals after a cut", n, m)
		}
		// One that breaks as soon as it stands is not opened over and over.
		f.set(func() { f.calls = nil })
		for range 1000 {
			f.cutStreams()
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(f.made(wire.PathEvents)); n > 80 {
			t.Errorf("%d streams in 10 s", n)
		}
	})
}
