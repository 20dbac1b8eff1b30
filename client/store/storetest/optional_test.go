package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
)

// server is a store that implements all optional interfaces, and may break their promises.
type server struct {
	*store.Memory
	lateCompare bool // the generation is not compared
	noRevision  bool // the revision is not compared when a generation is
	silent      bool // changes are not told
	endless     bool // a watch does not end
	wrongClock  bool
	noClock     bool
	changes     chan string
}

func (s *server) Generation(context.Context) (string, bool, error) { return "g1", true, nil }

func (s *server) SwapIn(ctx context.Context, e store.Entry, generation string) (store.Revision, error) {
	if generation != "g1" && !s.lateCompare {
		return "", store.ErrChanged
	}
	if s.noRevision {
		return (&broken{Memory: s.Memory}).overwrite(ctx, e)
	}
	return s.Memory.Swap(ctx, e)
}

func (s *server) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	revision, err := s.Memory.Swap(ctx, e)
	if err == nil && !s.silent {
		select {
		case s.changes <- e.Key:
		default:
		}
	}
	return revision, err
}

func (s *server) Watch(ctx context.Context, _ string) (<-chan string, error) {
	if s.endless {
		return s.changes, nil
	}
	changes := make(chan string, 10)
	go func() {
		defer close(changes)
		for {
			select {
			case key := <-s.changes:
				changes <- key
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes, nil
}

func (s *server) Time() (time.Time, time.Duration, bool) {
	if s.wrongClock {
		return time.Now().Add(-time.Hour), time.Second, true
	}
	return time.Now(), time.Second, !s.noClock
}

func checkNamed(t *testing.T, name string) check {
	t.Helper()
	for _, c := range checks {
		if c.name == name {
			return c
		}
	}
	t.Fatal("no check " + name)
	return check{}
}

func TestSuiteNoticesOptional(t *testing.T) {
	fresh := func(change func(*server)) *server {
		s := &server{Memory: store.NewMemory(), changes: make(chan string, 10)}
		change(s)
		return s
	}
	for _, tt := range []struct {
		what, check string
		change      func(*server)
		passes      bool
	}{
		{"a generation", "Generation", func(*server) {}, true},
		{"the generation is not compared", "Generation", func(s *server) { s.lateCompare = true }, false},
		{"only the generation is compared", "Generation", func(s *server) { s.noRevision = true }, false},
		{"a watch", "Watch", func(*server) {}, true},
		{"a silent watch", "Watch", func(s *server) { s.silent = true }, false},
		{"an endless watch", "Watch", func(s *server) { s.endless = true }, false},
		{"a clock", "Dated", func(*server) {}, true},
		{"a wrong clock", "Dated", func(s *server) { s.wrongClock = true }, false},
		{"an unknown clock", "Dated", func(s *server) { s.noClock = true }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := checkNamed(t, tt.check).passes(t, fresh(tt.change)); got != tt.passes {
				t.Errorf("%s: %s passes: %v", tt.what, tt.check, got)
			}
		})
	}
}

// TestFaultyWithoutFaults: a Faulty is as good a store as the one below it.
func TestFaultyWithoutFaults(t *testing.T) {
	m := store.NewMemory()
	for _, c := range checks {
		if c.when == nil {
			t.Run(c.name, func(t *testing.T) { c.run(t, func() store.Store { return NewFaulty(m, 1) }) })
		}
	}
}

// TestFaulty: each fault happens as often as it is asked for, and does as it says.
func TestFaulty(t *testing.T) {
	ctx := t.Context()
	fresh := func(faults Faults) (*Faulty, *store.Memory) {
		m := store.NewMemory()
		f := NewFaulty(m, 1)
		f.Set(faults)
		return f, m
	}
	e := store.Entry{Key: "k", Body: []byte("x")}
	written := func(m *store.Memory) bool { _, err := m.Load(ctx, "k"); return err == nil }

	f, m := fresh(Faults{LoseRequest: 1})
	if _, err := f.Swap(ctx, e); !errors.Is(err, ErrLost) || errors.Is(err, store.ErrChanged) || written(m) {
		t.Errorf("a lost request: %v, written %v", err, written(m))
	}
	f, m = fresh(Faults{LoseAnswer: 1})
	if _, err := f.Swap(ctx, e); !errors.Is(err, ErrLost) || !written(m) {
		t.Errorf("a lost answer: %v, written %v", err, written(m))
	}
	f, _ = fresh(Faults{Down: true})
	if _, err := f.Load(ctx, "k"); !errors.Is(err, ErrLost) {
		t.Errorf("an outage: %v", err)
	}
	f, m = fresh(Faults{Late: 1})
	if _, err := f.Swap(ctx, e); !errors.Is(err, ErrLost) || written(m) {
		t.Errorf("a late request: %v, written %v", err, written(m))
	}
	if f.Deliver(ctx); !written(m) || f.Counts().Landed != 1 {
		t.Errorf("a late request was not delivered: %+v", f.Counts())
	}
	f, _ = fresh(Faults{Repeat: 1})
	if _, err := f.Swap(ctx, e); err != nil {
		t.Errorf("a repeated request: %v", err)
	}
	if f.Deliver(ctx); f.Counts().Delivered != 1 || f.Counts().Landed != 0 {
		t.Errorf("a repeated create: %+v", f.Counts())
	}
	f, _ = fresh(Faults{IgnoreConditions: true})
	if _, err := f.Swap(ctx, e); err != nil {
		t.Error(err)
	}
	if _, err := f.Swap(ctx, e); err != nil || f.Counts().Ignored != 1 {
		t.Errorf("a second create without conditions: %v, %+v", err, f.Counts())
	}
	f, _ = fresh(Faults{LoseRequest: 0.2, LoseAnswer: 0.2})
	for range 500 {
		_, _ = f.Load(ctx, "k")
	}
	if c := f.Counts(); c.Calls != 500 || c.LostRequests < 60 || c.LostRequests > 140 || c.LostAnswers < 40 ||
		c.LostAnswers > 120 {
		t.Errorf("of 500 calls with a fifth lost each way: %+v", c)
	}
}

// TestFaultyFreeze: frozen calls ignore their context, and are delivered after a thaw.
func TestFaultyFreeze(t *testing.T) { synctest.Test(t, testFreeze) }

func testFreeze(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := store.NewMemory()
	f := NewFaulty(m, 1)
	f.Freeze()
	done := make(chan error, 1)
	go func() {
		_, err := f.Swap(ctx, store.Entry{Key: "k", Body: []byte("x")})
		done <- err
	}()
	cancel()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("a frozen call returned %v", err)
	default:
	}
	f.Thaw()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context ended while it was frozen: %v", err)
	}
}

// TestFaultyBeforeSwap: a hook sees the state right before a swap.
func TestFaultyBeforeSwap(t *testing.T) {
	ctx := t.Context()
	m := store.NewMemory()
	f := NewFaulty(m, 1)
	f.BeforeSwap("k", func() {
		if _, err := m.Swap(ctx, store.Entry{Key: "k", Body: []byte("other")}); err != nil {
			t.Error(err)
		}
	})
	if _, err := f.Swap(ctx, store.Entry{Key: "j", Body: []byte("x")}); err != nil {
		t.Errorf("another key: %v", err)
	}
	if _, err := f.Swap(ctx, store.Entry{Key: "k", Body: []byte("x")}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a swap after another writer: %v", err)
	}
	if _, err := f.Swap(ctx, store.Entry{Key: "l", Body: []byte("x")}); err != nil {
		t.Errorf("after the hook: %v", err)
	}
}
