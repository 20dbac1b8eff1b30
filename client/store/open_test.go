package store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// careless ignores the conditions of some writes.
type careless struct {
	*Memory
	ignores func(e Entry) bool
}

func (c careless) Swap(ctx context.Context, e Entry) (Revision, error) {
	if c.ignores(e) {
		have, _ := c.Load(ctx, e.Key)
		e.Revision = have.Revision
	}
	return c.Memory.Swap(ctx, e)
}

func (careless) String() string { return "the careless store" }

// TestStoreThatIgnoresConditionsIsRefused is ZH9.
func TestStoreThatIgnoresConditionsIsRefused(t *testing.T) {
	for what, ignores := range map[string]func(e Entry) bool{
		"must not exist": func(e Entry) bool { return e.Revision == "" },
		"at a revision":  func(e Entry) bool { return e.Revision != "" },
	} {
		inBubble(t, func(b *bench) {
			b.store = careless{NewMemory(), ignores}
			_, err := b.tryClient()
			b.wants(err, sequencer.ErrInvalidConfig)
			if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "the careless store") {
				b.Errorf("got %v", err)
			}
		})
	}
}

// pageNotFound answers every call as a web server that has nothing at the store's address.
type pageNotFound struct {
	*Memory
	calls int
}

func (p *pageNotFound) Load(context.Context, string) (Entry, error) {
	p.calls++
	return Entry{}, failure.Errorf(ErrNoRecord, "status 404")
}

func (*pageNotFound) Swap(context.Context, Entry) (Revision, error) {
	return "", failure.Errorf(ErrChanged, "status 404")
}

// TestAnswersOfAnotherServerAreReported: a server that neither has the probe's key nor creates it is not asked without
// end, and its answer is reported.
func TestAnswersOfAnotherServerAreReported(t *testing.T) {
	inBubble(t, func(b *bench) {
		other := &pageNotFound{Memory: NewMemory()}
		b.store = other
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		var reported error
		_, err := Open(ctx, other, Config{Clock: bubbleClock, OnRetry: func(err error) {
			reported = err
			cancel()
		}})
		b.wants(err, sequencer.ErrUnavailable)
		if reported == nil || !strings.Contains(reported.Error(), "status 404") || other.calls > 3 {
			b.Errorf("%d calls, reported %v", other.calls, reported)
		}
	})
}

// TestConfigOfTheStoreIsNotRetried is Z3: a missing bucket fails immediately.
func TestConfigOfTheStoreIsNotRetried(t *testing.T) {
	inBubble(t, func(b *bench) {
		calls := 0
		b.store = &hooked{Memory: NewMemory(), before: func(context.Context, string, string) error {
			calls++
			return failure.Errorf(sequencer.ErrInvalidConfig, "s3: bucket %q does not exist", "ids")
		}}
		_, err := b.tryClient()
		b.wants(err, sequencer.ErrInvalidConfig)
		if calls != 1 || !strings.Contains(err.Error(), "ids") {
			b.Errorf("%d calls, %v", calls, err)
		}
	})
}

func TestOpenWaitsForTheStore(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, away := switchable()
		b.store = s
		away.Store(true)
		ctx := b.within(20 * time.Second)
		_, err := OpenExactIn(ctx, b)
		b.wants(err, sequencer.ErrUnavailable)
		b.wants(err, context.DeadlineExceeded)
		if err == nil || !strings.Contains(err.Error(), errAway.Error()) {
			b.Errorf("got %v", err)
		}
		time.AfterFunc(10*time.Second, func() { away.Store(false) })
		b.next(b.create(b.client()))
	})
}

// OpenExactIn opens a client of a bench with a context.
func OpenExactIn(ctx context.Context, b *bench) (*Client, error) {
	return OpenExact(ctx, b.store, Config{Clock: bubbleClock})
}

func TestConfigIsChecked(t *testing.T) {
	inBubble(t, func(b *bench) {
		for name, change := range map[string]func(*Config){
			"Window":          func(c *Config) { c.Window = 999 * time.Millisecond },
			"CallTimeout":     func(c *Config) { c.CallTimeout = c.Window },
			"AcquireMaxDelay": func(c *Config) { c.AcquireMaxDelay = -1 },
			"ReadyTimeout":    func(c *Config) { c.ReadyTimeout = c.Window },
			"MaxSkew":         func(c *Config) { c.MaxSkew = -1 },
			"MaxClockBack":    func(c *Config) { c.MaxClockBack = -1 },
			"FailoverBound":   func(c *Config) { c.FailoverBound = time.Second }, // of a store without generations
			"Pool":            func(c *Config) { c.Pool = -1 },
			"Prefix":          func(c *Config) { c.Prefix = strings.Repeat("x", 201) },
			"Task":            func(c *Config) { c.Task = "\xff" },
		} {
			_, err := b.tryClient(change)
			b.wants(err, sequencer.ErrInvalidConfig)
			if err == nil || !strings.Contains(err.Error(), "Config."+name) {
				b.Errorf("%s: %v", name, err)
			}
		}
		_, err := Open(b.Context(), nil, Config{})
		b.wants(err, sequencer.ErrInvalidConfig)
	})
}

// suggesting is a store with a default window.
type suggesting struct{ *Memory }

func (suggesting) DefaultWindow() time.Duration { return 2 * time.Minute }

func TestStoreSuggestsItsWindow(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store = suggesting{NewMemory()}
		if c := b.client(func(c *Config) { c.Window = 0 }); c.cfg.Window != 2*time.Minute ||
			c.cfg.CallTimeout != 30*time.Second || c.cfg.ReadyTimeout != 4*time.Minute {
			b.Errorf("got %+v", c.cfg)
		}
		if c := b.client(); c.cfg.Window != 3*time.Second || c.cfg.CallTimeout != 1500*time.Millisecond {
			b.Errorf("got %+v", c.cfg)
		}
	})
}

// TestWrongClockIsRefused: a clock that cannot be right, and one that is off the store's;
// the message names both times.
func TestWrongClockIsRefused(t *testing.T) {
	inBubble(t, func(b *bench) {
		_, err := b.tryClient(func(c *Config) { c.Clock = time.Now }) // the year 2000
		b.wants(err, sequencer.ErrInvalidConfig)
		off := time.Hour
		b.store = dated{NewMemory(), func() time.Time { return bubbleClock().Add(off) }}
		_, err = b.tryClient()
		b.wants(err, sequencer.ErrInvalidConfig)
		for _, text := range []string{"MaxSkew", "2026-11-22T00:00:00Z", "2026-11-22T01:00:00Z"} {
			if err == nil || !strings.Contains(err.Error(), text) {
				b.Errorf("without %q: %v", text, err)
			}
		}
		off = 5 * time.Second
		if h := b.client().Health(); h.Skew != -off || !h.SkewKnown {
			b.Errorf("skew %v", h.Skew)
		}
	})
}

// TestClockThatGoesWrongIsNotFollowed: while it is off the store's clock, IDs keep the
// time that they had, and no node is taken.
func TestClockThatGoesWrongIsNotFollowed(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store = dated{NewMemory(), bubbleClock}
		var off atomic.Int64
		c := b.client(func(c *Config) { c.Clock = func() time.Time { return bubbleClock().Add(time.Duration(off.Load())) } })
		s := b.create(c)
		off.Store(int64(time.Hour))
		time.Sleep(20 * time.Second)
		got := s.Definition().Decompose(b.next(s)).Time
		if d := got.Sub(bubbleClock()).Abs(); d > time.Second {
			b.Errorf("the ID is of %v", got)
		}
		if h := c.Health(); h.Ready || !h.Valid || !strings.Contains(h.Reason, "clock") {
			b.Errorf("health %+v", h)
		}
		_, err := c.CreateSequencer(b.within(time.Second), "others", sequencer.Config{})
		b.wants(err, sequencer.ErrUnavailable)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "MaxSkew") {
			b.Errorf("got %v", err)
		}
	})
}

// TestLossyStoreNeedsABound: a store whose failover may lose writes is refused without one.
func TestLossyStoreNeedsABound(t *testing.T) {
	inBubble(t, func(b *bench) {
		one := "one"
		s := &servers{Memory: NewMemory(), lossy: true}
		s.name.Store(&one)
		b.store = s
		_, err := b.tryClient()
		b.wants(err, sequencer.ErrInvalidConfig)
		if err == nil || !strings.Contains(err.Error(), "Config.FailoverBound (--failover-bound)") {
			b.Errorf("got %v", err)
		}
		s.lossy = false
		b.next(b.create(b.client()))
		if r := b.record(0); r.Generation != "" {
			b.Errorf("generation %q of a store that loses nothing", r.Generation)
		}
	})
}

// TestFailoverIsAQuarantine is Q2 and Q4 in the client: a node of a server that was replaced
// is used when nothing that may have been lost can reach there.
func TestFailoverIsAQuarantine(t *testing.T) {
	inBubble(t, func(b *bench) {
		one, two := "one", "two"
		s := &servers{Memory: NewMemory(), lossy: true}
		s.name.Store(&one)
		b.store = s
		lost := make(chan Loss, 9)
		began := time.Now()
		h := b.create(b.client(func(c *Config) {
			c.FailoverBound, c.MaxSkew, c.OnLost = 2*time.Second, time.Second, func(l Loss) { lost <- l }
		}))
		b.next(h)
		if took := time.Since(began); took < 6*time.Second || took > 8*time.Second {
			b.Errorf("a new record is used after %v", took)
		}
		time.Sleep(10 * time.Second)
		s.name.Store(&two)
		took := <-lost
		b.wants(took.Cause, sequencer.ErrDetached)
		began = time.Now()
		for time.Since(began) < 8*time.Second {
			b.next(h)
			time.Sleep(50 * time.Millisecond)
		}
		if r := b.record(node(b, h)); r.Generation != "two" || r.From.Time().Before(bubbleClock().Add(-3*time.Second)) {
			b.Errorf("got %+v", r)
		}
	})
}

// TestGenerationIsComparedInTheSwap is Q3: a server that takes over between the reading of
// the generation and the swap refuses the swap.
func TestGenerationIsComparedInTheSwap(t *testing.T) {
	inBubble(t, func(b *bench) {
		one, two := "one", "two"
		s := &servers{Memory: NewMemory(), lossy: true}
		s.name.Store(&one)
		b.store = s
		c := b.client(func(c *Config) { c.FailoverBound, c.MaxSkew = time.Second, time.Second })
		s.onGeneration = func() { s.name.Store(&two) }
		b.next(b.create(c))
		if r := b.record(0); r.Generation != "two" || r.Version != 1 {
			b.Errorf("got %+v", r)
		}
	})
}
