package client

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/epoch"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// create returns an attached handle.
func create(t *testing.T, c *Client, name string) *sequencer.Sequencer {
	t.Helper()
	h, err := c.CreateSequencer(t.Context(), name, sequencer.Config{Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// works wants an ID from a handle.
func works(t *testing.T, h *sequencer.Sequencer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := h.Next(ctx); err != nil {
		t.Errorf("no ID: %v", err)
	}
}

func wants(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%v does not match %v", err, target)
		}
	}
}

func TestOneHandleForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		var wg sync.WaitGroup
		handles := make([]*sequencer.Sequencer, 50)
		for i := range handles {
			wg.Go(func() { handles[i] = create(t, c, "orders") })
		}
		wg.Wait()
		for _, h := range handles {
			if h != handles[0] {
				t.Fatal("two handles")
			}
		}
		if n := len(f.made(wire.PathCreate)); n != 1 || f.attached() != 1 {
			t.Errorf("%d creates, %d logical nodes", n, f.attached())
		}
		works(t, handles[0])
		if err := handles[0].DetachLogicalNode(t.Context()); err != nil {
			t.Error(err)
		}
		if h := create(t, c, "orders"); h != handles[0] || h.State() != sequencer.Detached {
			t.Errorf("a Detached handle came back as another or %v", h.State())
		}
		if h, err := c.OpenSequencer(t.Context(), "orders"); h != handles[0] || err != nil {
			t.Errorf("opened another handle, %v", err)
		}
	})
}

func TestConflictShowsBothDefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		create(t, f.dial(t), "orders")
		c := f.dial(t)
		for range 2 {
			_, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 8192, Epoch: epoch.Discord})
			wants(t, err, sequencer.ErrConflict)
			for _, part := range []string{"128 nodes", "8192 nodes", "2026-01-01", "2015-01-01"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not show %s", err, part)
				}
			}
			create(t, c, "orders") // from now on it is this process that knows
		}
	})
}

func TestFailedAttachLeavesADetachedHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.older = true // the attach is a call of its own
		c := f.dial(t)
		synctest.Wait() // the session has nothing to look after
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathAttach {
				return errCut
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		h, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128})
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		if h == nil || h.State() != sequencer.Detached {
			t.Fatalf("the handle is %v", h)
		}
		// Detached as it is, it learns of a destroy.
		synctest.Wait()
		if n := len(f.made(wire.PathEvents)); n != 1 {
			t.Errorf("%d event streams", n)
		}
		f.hook(nil)
		if again := create(t, c, "orders"); again != h || h.State() != sequencer.Attached {
			t.Errorf("the second call left it %v", h.State())
		}
		works(t, h)
	})
}

// TestLostAttachAnswer: the retry carries the same attachment ID, so it costs no
// second logical node; another attach has another ID.
func TestLostAttachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.older = true // the attach is a call of its own
		c := f.dial(t)
		lost := 3
		f.hookAnswers(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathAttach && lost > 0 {
				lost--
				return errCut
			}
			return nil
		})
		h := create(t, c, "orders")
		works(t, h)
		if err := h.DetachLogicalNode(t.Context()); err != nil || f.attached() != 0 {
			t.Errorf("%v; %d logical nodes are attached", err, f.attached())
		}
		if err := h.AttachLogicalNode(t.Context()); err != nil {
			t.Error(err)
		}
		var ids []attachment.ID
		for _, m := range f.made(wire.PathAttach) {
			ids = append(ids, m.in.(wire.AttachRequest).Claim.ID)
		}
		if len(ids) != 5 || ids[0] != ids[1] || ids[1] != ids[2] || ids[2] != ids[3] || ids[3] == ids[4] {
			t.Errorf("attachment IDs %v", ids)
		}
	})
}

// TestLateAttachAnswer: what comes after the caller gave up is not used.
func TestLateAttachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.older = true // the attach is a call of its own
		c := f.dial(t)
		f.hookAnswers(func(ctx context.Context, _, path string, _ any) error {
			if path == wire.PathAttach {
				<-ctx.Done()
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128})
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		synctest.Wait()
		if _, held := h.LogicalNode(); held || h.State() != sequencer.Detached {
			t.Errorf("the handle is %v", h.State())
		}
		_, err = h.Next(t.Context())
		wants(t, err, sequencer.ErrDetached)
	})
}

// TestManyHoldersShareNodes: 200 handles on one name share its 128 nodes by
// giving them back while idle.
func TestManyHoldersShareNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var wg sync.WaitGroup
		for range 200 {
			c := f.dial(t)
			wg.Go(func() {
				h, err := c.OpenSequencer(t.Context(), "orders")
				for errors.Is(err, sequencer.ErrNotFound) {
					time.Sleep(time.Millisecond)
					h, err = c.OpenSequencer(t.Context(), "orders")
				}
				if err != nil {
					t.Error(err)
					return
				}
				h.DetachWhenIdle(500 * time.Millisecond)
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if _, err := h.Next(ctx); err != nil {
						t.Error(err)
					}
					cancel()
					time.Sleep(2 * time.Second)
				}
			})
		}
		first := create(t, f.dial(t), "orders")
		first.DetachWhenIdle(time.Millisecond)
		wg.Wait()
		if n := f.attached(); n != 0 {
			t.Errorf("%d logical nodes are still attached", n)
		}
	})
}

func TestLeaveGivesEverythingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		for i := range 100 {
			works(t, create(t, c, "s"+strconv.Itoa(i)))
		}
		if f.attached() != 100 {
			t.Fatalf("%d logical nodes are attached", f.attached())
		}
		// It also waits for releases in the background.
		tries := 0
		f.hook(func(_ context.Context, _, _ string, in any) error {
			if d, ok := in.(wire.DetachRequest); ok && d.Sequencer.Name == "s7" {
				if tries++; tries < 10 {
					return errCut
				}
			}
			return nil
		})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		wants(t, c.handles.Live("s7").Control.Handle().DetachLogicalNode(short), context.DeadlineExceeded)
		cancel()
		if err := c.Leave(t.Context()); err != nil || f.attached() != 0 {
			t.Errorf("%v; %d logical nodes are still attached", err, f.attached())
		}
		wants(t, c.Leave(t.Context()), sequencer.ErrClosed)
	})
}

func TestLeaveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		f.set(func() { f.down["a:1"], f.down["b:1"], f.down["c:1"] = true, true, true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wants(t, c.Leave(ctx), context.DeadlineExceeded, sequencer.ErrUnavailable)
		_, err := h.Next(t.Context())
		wants(t, err, sequencer.ErrClosed)
	})
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		waiting := make(chan error)
		f.hook(func(ctx context.Context, _, path string, _ any) error { <-ctx.Done(); return ctx.Err() })
		go func() {
			_, err := c.CreateSequencer(context.Background(), "users", sequencer.Config{})
			waiting <- err
		}()
		go func() { waiting <- h.DetachLogicalNode(context.Background()) }()
		synctest.Wait()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		wants(t, <-waiting, sequencer.ErrClosed)
		wants(t, <-waiting, sequencer.ErrClosed)
		ctx := t.Context()
		_, created := c.CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128})
		_, opened := c.OpenSequencer(ctx, "orders")
		_, next := h.Next(ctx)
		for _, err := range []error{
			created, opened, next, c.DestroySequencer(ctx, "orders"), c.Leave(ctx),
			h.AttachLogicalNode(ctx), h.DetachLogicalNode(ctx), h.Destroy(ctx),
		} {
			wants(t, err, sequencer.ErrClosed)
		}
	})
}

func TestForgetGivesTheNodeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		if err := c.Forget(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Next(t.Context()); !errors.Is(err, sequencer.ErrClosed) {
			t.Errorf("the handle that was forgotten says %v", err)
		}
		if n := len(c.handles.All()); n != 0 {
			t.Errorf("%d handles are left", n)
		}
		again := create(t, c, "orders")
		works(t, again)
		held := 0
		f.set(func() { held = len(f.table.TenantsOf("orders")) })
		if again == h || held != 1 {
			t.Errorf("%d logical nodes are held, not the next handle's alone", held)
		}
		for range 2 {
			if err := c.Forget(t.Context(), "unknown"); err != nil {
				t.Errorf("a name without a handle: %v", err)
			}
		}
		_ = c.Close()
		wants(t, c.Forget(t.Context(), "orders"), sequencer.ErrClosed)
	})
}

// TestLoopEndsWithItsContext takes IDs at full speed with a context that has ended: the loop
// ends with the millisecond, not with the grant.
func TestLoopEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := create(t, newFake().dial(t), "orders")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		for n := range 200_000 {
			if _, err := h.Next(ctx); err != nil {
				wants(t, err, context.Canceled)
				if limit := 1 << 23 / h.Definition().Config().Nodes; n > limit || time.Since(began) > 0 {
					t.Errorf("the loop ended after %d IDs and %v, not with the millisecond", n, time.Since(began))
				}
				return
			}
		}
		t.Error("200,000 calls with a context that had ended succeeded")
	})
}
