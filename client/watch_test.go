package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// waiting returns the directory requests that asked to wait for a move.
func (f *fake) waiting() (n int) {
	for _, m := range f.made(wire.PathDirectory) {
		if m.in.(wire.DirectoryRequest).Wait > 0 {
			n++
		}
	}
	return n
}

// TestWaitingCallFollowsTheNewOwner: a create whose owner has ended is answered as soon as
// another member is the owner, whenever that is.
func TestWaitingCallFollowsTheNewOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after := 10 * time.Millisecond; after < 4*time.Second; after += 397 * time.Millisecond {
			f := newFake()
			c := f.dial(t)
			const name = "orders"
			f.set(func() { f.down[f.members[f.owners[f.of(name)]]] = true })
			next := (f.owners[f.of(name)] + 1) % len(f.members)
			created := make(chan error, 1)
			go func() {
				_, err := c.CreateSequencer(t.Context(), name, sequencer.Config{})
				created <- err
			}()
			time.Sleep(after)
			began := time.Now()
			f.move(next)
			if err := <-created; err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 10*time.Millisecond {
				t.Errorf("created %v after a new owner that came after %v", took, after)
			}
			_ = c.Close()
		}
	})
}

// TestWaitsShareARequest: while many calls wait for an owner that does not come, the client
// asks one member at a time; members that answer without waiting are asked no more often.
func TestWaitsShareARequest(t *testing.T) {
	for _, older := range []bool{false, true} {
		t.Run(fmt.Sprintf("older=%v", older), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				c := f.dial(t)
				f.set(func() { f.down["b:1"], f.older = true, older })
				f.move(1)
				const wait = 20 * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				var all sync.WaitGroup
				for i := range 50 {
					all.Go(func() {
						if _, err := c.CreateSequencer(ctx, fmt.Sprintf("orders-%d", i), sequencer.Config{}); !errors.Is(err,
							sequencer.ErrUnavailable) {
							t.Errorf("a create without an owner: %v", err)
						}
					})
				}
				all.Wait()
				if n, most := f.waiting(), int(wait/wire.MaxDirectoryWait.Duration())+2; n == 0 || n > most {
					t.Errorf("%d requests for a new owner in %v, want 1 to %d", n, wait, most)
				}
			})
		})
	}
}

// TestOwnersThatAlwaysMove: while each look-up names another owner, as with the directories of two grids, a
// call goes to the next owner a few times without a pause, and then with pauses.
func TestOwnersThatAlwaysMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		tries := 0
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path != wire.PathOpen {
				return nil
			}
			if tries++; tries == 10_000 {
				cancel()
			}
			f.move(tries % 2)
			return fmt.Errorf("not the owner: %w", roster.ErrWrongOwner)
		})
		_, err := c.OpenSequencer(ctx, "orders")
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		if tries < 50 || tries > 400 {
			t.Errorf("%d tries in 10 s", tries)
		}
	})
}
