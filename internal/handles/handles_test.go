package handles

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// fake is a client without a backend: attaches and detaches end when and as a test says.
type fake struct {
	tasks    *Tasks
	registry *Registry[string]

	mu        sync.Mutex
	attaching int // in progress
	most      int // concurrently
	attached  int // ever
	detached  int
	refuses   error // of attaches after the first `allowed`
	allowed   int
	slow      time.Duration
	failed    []string // by AttachFailed
	returned  int
	removed   int
}

func newFake() *fake {
	f := &fake{tasks: NewTasks("test")}
	f.registry = New[string](f.tasks, f)
	return f
}

// make makes an entry as a client does.
func (f *fake) make(t *testing.T, name string, stripe bool) func() (*Entry[string], error) {
	def, err := sequencer.Define(name, sequencer.Config{Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	return func() (*Entry[string], error) {
		time.Sleep(f.slow)
		e := &Entry[string]{State: name, Stripe: stripe, Owed: !stripe}
		_, e.Control = attachment.New(attachment.Ref{Definition: def}, f, NewExactClock())
		return e, f.registry.Put(e)
	}
}

func (f *fake) create(t *testing.T, name string) (*sequencer.Sequencer, error) {
	def, err := sequencer.Define(name, sequencer.Config{Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	return f.registry.Create(t.Context(), def, f.make(t, name, false))
}

// set changes the backend's behaviour.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// Attach implements attachment.Backend.
func (f *fake) Attach(ctx context.Context, _ attachment.Ref, _ attachment.Preference) (attachment.Attachment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attaching++
	f.most = max(f.most, f.attaching)
	f.mu.Unlock()
	time.Sleep(f.slow)
	f.mu.Lock()
	f.attaching--
	if f.refuses != nil && f.attached >= f.allowed {
		return attachment.Attachment{}, f.refuses
	}
	f.attached++
	id := attachment.ID{byte(f.attached)}
	return attachment.Attachment{ID: id, Node: sequencer.NodeID(f.attached % 128),
		Grant: attachment.Grant{From: 1, Until: 1 << 50}}, ctx.Err()
}

// Detach implements attachment.Backend.
func (f *fake) Detach(ctx context.Context, _ attachment.Ref, _ attachment.Release) error {
	f.set(func() { f.detached++ })
	return ctx.Err()
}

// Destroy implements attachment.Backend.
func (f *fake) Destroy(context.Context, attachment.Ref) error { return nil }

// AttachFailed implements Keeper.
func (f *fake) AttachFailed(e *Entry[string]) { f.set(func() { f.failed = append(f.failed, e.State) }) }

// Return implements Keeper.
func (f *fake) Return(attachment.Ref, attachment.Release) { f.set(func() { f.returned++ }) }

// Remove implements Keeper.
func (f *fake) Remove(gone []*Entry[string]) { f.set(func() { f.removed += len(gone) }) }

func wants(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%v does not match %v", err, target)
		}
	}
}

// TestCreatesTakeTurns: creates of one name make one handle and attach it once; those of
// other names do not wait for it.
func TestCreatesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.slow = time.Second
		began := time.Now()
		var all sync.WaitGroup
		handles := make([]*sequencer.Sequencer, 20)
		for i := range handles {
			all.Go(func() { handles[i], _ = f.create(t, "orders") })
		}
		all.Go(func() { _, _ = f.create(t, "users") })
		all.Wait()
		if len(slices.Compact(handles)) != 1 || f.attached != 2 || time.Since(began) != 2*time.Second {
			t.Errorf("%d handles, %d attaches, %v", len(slices.Compact(handles)), f.attached, time.Since(began))
		}
		if f.registry.turns.Len() != 0 {
			t.Error("turns are kept")
		}
		f.registry.Close()
	})
}

// TestTurnEndsWithItsContext: a create that waits for another one ends with its context.
func TestTurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.slow = time.Minute
		go func() { _, _ = f.create(t, "orders") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wants(t, f.registry.Forget(ctx, "orders"), context.DeadlineExceeded, sequencer.ErrUnavailable)
		if f.registry.turns.Len() != 1 {
			t.Error("the turn of the create is gone")
		}
		time.Sleep(2 * time.Minute)
		f.registry.Close()
	})
}

// TestFailedAttachIsOwed: Create tries a failed attach again, and Open gives it up.
func TestFailedAttachIsOwed(t *testing.T) {
	f := newFake()
	f.refuses = sequencer.ErrNoFreeNode
	h, err := f.create(t, "orders")
	wants(t, err, sequencer.ErrNoFreeNode)
	if h == nil || h.State() != sequencer.Detached || !slices.Equal(f.failed, []string{"orders"}) {
		t.Fatalf("%v, failed attaches of %q", h, f.failed)
	}
	f.refuses = nil
	if again, err := f.create(t, "orders"); err != nil || again != h || h.State() != sequencer.Attached {
		t.Errorf("%v, %v", err, h.State())
	}
	f.refuses = sequencer.ErrNoFreeNode
	users, _ := f.create(t, "users")
	if opened, err := f.registry.Open(t.Context(), "users", nil); err != nil || opened != users {
		t.Error(err)
	}
	if _, err := f.create(t, "users"); err != nil || users.State() != sequencer.Detached {
		t.Errorf("a create after an open attached it: %v, %v", err, users.State())
	}
}

func TestConflictIsRefused(t *testing.T) {
	f := newFake()
	if _, err := f.create(t, "orders"); err != nil {
		t.Fatal(err)
	}
	def, _ := sequencer.Define("orders", sequencer.Config{Nodes: 256})
	_, err := f.registry.Create(t.Context(), def, f.make(t, "orders", false))
	wants(t, err, sequencer.ErrConflict)
	for _, part := range []string{"128 nodes", "256 nodes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not show %s", err, part)
		}
	}
}

// TestDestroyedHandleIsReplaced: and the old one's end does not drop the new one.
func TestDestroyedHandleIsReplaced(t *testing.T) {
	f := newFake()
	h, _ := f.create(t, "orders")
	old := f.registry.Live("orders")
	old.Control.Destroy()
	again, err := f.create(t, "orders")
	if err != nil || again == h {
		t.Fatalf("%v; a destroyed handle came back: %t", err, again == h)
	}
	f.registry.Drop(old.Control)
	if f.registry.Live("orders") == nil {
		t.Error("the new handle was dropped")
	}
}

func TestForgetEndsTheHandle(t *testing.T) {
	f := newFake()
	h, _ := f.create(t, "orders")
	if err := f.registry.Forget(t.Context(), "orders"); err != nil || f.detached != 1 || f.removed != 1 ||
		len(f.registry.All()) != 0 {
		t.Errorf("%v, %d detached, %d removed, %d kept", err, f.detached, f.removed, len(f.registry.All()))
	}
	wants(t, h.AttachLogicalNode(t.Context()), sequencer.ErrClosed)
	if err := f.registry.Forget(t.Context(), "orders"); err != nil {
		t.Error(err)
	}
}

// TestForgetWithAnEndedContext: a turn that is free is taken in any case, so that the
// handle ends.
func TestForgetWithAnEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		f := newFake()
		h, _ := f.create(t, "orders")
		_ = f.registry.Forget(ended, "orders") // It may report ctx's error.
		if h.State() != sequencer.Detached || len(f.registry.All()) != 0 {
			t.Fatalf("the handle is %v, %d are kept", h.State(), len(f.registry.All()))
		}
	}
}

// TestStripedIsAllOrNothing: eight stripes at a time are attached; if one is not, those
// that were are given back.
func TestStripedIsAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.slow = time.Second
		s, err := f.registry.Striped(t.Context(), 20, f.make(t, "orders", true))
		if err != nil || f.most != stripesAtOnce || len(f.registry.All()) != 20 || f.registry.Live("orders") != nil {
			t.Fatalf("%v, %d concurrently, %d kept", err, f.most, len(f.registry.All()))
		}
		f.refuses, f.allowed = sequencer.ErrNoFreeNode, 25
		_, err = f.registry.Striped(t.Context(), 20, f.make(t, "orders", true))
		wants(t, err, sequencer.ErrNoFreeNode)
		if f.detached != 5 || len(f.registry.All()) != 20 {
			t.Errorf("%d detached, %d kept", f.detached, len(f.registry.All()))
		}
		if err := s.Leave(t.Context()); err != nil || f.detached != 25 || len(f.registry.All()) != 0 {
			t.Errorf("%v, %d detached, %d kept", err, f.detached, len(f.registry.All()))
		}
		wants(t, s.Leave(t.Context()), sequencer.ErrClosed)
	})
}

// TestClosedRefuses: attachments end, and none begins.
func TestClosedRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h, _ := f.create(t, "orders")
		bound, cancel := f.tasks.Bind(t.Context())
		defer cancel()
		ended := false
		f.tasks.Go(func(ctx context.Context) { <-ctx.Done(); time.Sleep(time.Second); ended = true })
		f.registry.Close()
		if !ended {
			t.Error("Close did not wait for a task")
		}
		wants(t, bound.Err(), context.Canceled)
		wants(t, context.Cause(bound), sequencer.ErrClosed)
		_, created := f.create(t, "users")
		_, put := f.make(t, "users", false)()
		for _, err := range []error{created, put, f.tasks.Begin(), f.tasks.Err(), f.registry.Forget(t.Context(), "orders"),
			h.AttachLogicalNode(t.Context())} {
			wants(t, err, sequencer.ErrClosed)
		}
		f.tasks.Go(func(context.Context) { t.Error("a task began") })
		synctest.Wait()
		f.registry.Close()
	})
}

// TestReleasesRunAFewConcurrently: in their order, and Await returns after the last.
func TestReleasesRunAFewConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := NewTasks("test")
		r := NewReleases(tasks)
		if err := r.Await(t.Context()); err != nil {
			t.Error(err)
		}
		var mu sync.Mutex
		var began []time.Duration
		start := time.Now()
		for range 3 * ReleasesMax {
			r.Add(func(context.Context) {
				mu.Lock()
				began = append(began, time.Since(start))
				mu.Unlock()
				time.Sleep(time.Second)
			})
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		wants(t, r.Await(short), context.DeadlineExceeded)
		if err := r.Await(t.Context()); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for i, at := range began {
			if at != time.Duration(i/ReleasesMax)*time.Second {
				t.Errorf("release %d began after %v", i, at)
			}
		}
		r.Add(func(ctx context.Context) { <-ctx.Done() })
		time.AfterFunc(time.Second, tasks.Close)
		wants(t, r.Await(t.Context()), sequencer.ErrClosed)
		tasks.Wait()
	})
}

// TestDetachAllReportsFailures: all are tried concurrently, and a handle that holds
// nothing does not count as a failure.
func TestDetachAllReportsFailures(t *testing.T) {
	f := newFake()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := f.create(t, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.registry.Live("a").Control.Handle().DetachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wants(t, f.registry.detachAll(ctx), context.Canceled)
	if err := f.registry.detachAll(t.Context()); err != nil || f.detached != 3 {
		t.Errorf("%v, %d detached", err, f.detached)
	}
}

func TestDetachIdle(t *testing.T) {
	f := newFake()
	h, _ := f.create(t, "orders")
	h.DetachWhenIdle(time.Millisecond)
	e := f.registry.Live("orders")
	if !e.Control.Idle(clustertime.Tick(1 << 45)) {
		t.Fatal("the handle is not idle")
	}
	DetachIdle(t.Context(), e.Control, time.Second, slog.New(slog.DiscardHandler))
	if h.State() != sequencer.Detached || f.detached != 1 {
		t.Errorf("%v, %d detached", h.State(), f.detached)
	}
}
