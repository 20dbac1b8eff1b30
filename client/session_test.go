package client

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// gaps returns the times between calls.
func gaps(calls []made) (out []time.Duration) {
	for i := 1; i < len(calls); i++ {
		out = append(out, calls[i].at.Sub(calls[i-1].at))
	}
	return out
}

func TestRenewalPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		time.Sleep(10 * time.Minute)
		works(t, h)
		// A renewal is a call with the set of all handles. While the owner knows another set,
		// a second call shows them one by one: the event stream may stand before the attach
		// is answered, and the owner then hears of the handle without and with a node.
		sets := slices.DeleteFunc(f.made(wire.PathRenew),
			func(m made) bool { return len(m.in.(wire.RenewRequest).Sets) == 0 })
		if n := len(f.made(wire.PathRenew)) - len(sets); n > 2 {
			t.Errorf("the handle was shown by itself %d times", n)
		}
		renewals := gaps(sets[1:]) // the first is requested by the new event stream
		if n := len(renewals); n < 150 || n > 210 {
			t.Errorf("%d renewals in 10 minutes", n)
		}
		low, high := slices.Min(renewals), slices.Max(renewals)
		if low < 3*time.Second || high > 3750*time.Millisecond+session.LookEvery || high-low < 300*time.Millisecond {
			t.Errorf("renewals are %v to %v apart", low, high)
		}
		if n := len(f.made(wire.PathDirectory)); n > 2 {
			t.Errorf("the directory was fetched %d times", n)
		}
	})
}

// TestRenewalsKeepThePace: a member that has much to do says when it wants the next renewal.
func TestRenewalsKeepThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := create(t, f.dial(t), "orders")
		f.set(func() { f.pace = 7 * time.Second })
		time.Sleep(10 * time.Minute)
		works(t, h)
		all := gaps(f.made(wire.PathRenew))
		if n := len(all); n < 80 || n > 120 { // 150 or more as usual
			t.Errorf("%d renewals in 10 minutes, %v apart", n, all)
		}
	})
}

// TestSessionDoesNotSpin: with nothing held nothing is called.
func TestSessionDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.dial(t)
		time.Sleep(time.Hour)
		if n := f.count(); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestFailedRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		owner := f.owner("orders")
		time.Sleep(4 * time.Second)
		f.set(func() { f.down[owner], f.calls = true, nil })
		f.hook(func(ctx context.Context, addr, path string, _ any) error {
			if path == wire.PathDirectory && addr != owner {
				<-ctx.Done() // which must not delay the next try
			}
			return nil
		})
		time.Sleep(8 * time.Second)
		f.hook(nil)
		pause := session.RetryAfter
		for _, gap := range gaps(f.made(wire.PathRenew)) {
			if gap < pause*3/4 || gap > pause+session.LookEvery {
				t.Errorf("a failed renewal is tried again after %v, want %v", gap, pause)
			}
			pause = min(2*pause, 15*time.Second/8)
		}
		if n := f.count(); n < 6 || n > 30 {
			t.Errorf("%d calls in 8 s of a cut", n)
		}
		works(t, h)
		f.set(func() { delete(f.down, owner) })
		time.Sleep(20 * time.Second)
		works(t, h)
		f.set(func() { f.down[owner], f.calls = true, nil })
		time.Sleep(5 * time.Second)
		if again := gaps(f.made(wire.PathRenew)); len(again) == 0 || again[0] > session.RetryAfter+session.LookEvery {
			t.Errorf("after a renewal that worked failed ones are tried again after %v", again)
		}
	})
}

// TestHungOwner: one that does not answer delays no renewal at another.
func TestHungOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		handles := map[string]*sequencer.Sequencer{}
		for i := range 30 {
			name := "s" + strconv.Itoa(i)
			handles[name] = create(t, c, name)
		}
		hung := f.owner("s0")
		f.hook(func(ctx context.Context, addr, _ string, _ any) error {
			if addr == hung {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		time.Sleep(time.Minute)
		for name, h := range handles {
			if f.owner(name) != hung {
				works(t, h)
			}
		}
		last := map[string]time.Time{}
		for _, m := range f.made(wire.PathRenew) {
			if gap := m.at.Sub(last[m.addr]); !last[m.addr].IsZero() && gap > 4*time.Second {
				t.Errorf("%v between two renewals at %s", gap, m.addr)
			}
			last[m.addr] = m.at
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := handles["s0"].Next(ctx)
		wants(t, err, sequencer.ErrGrantExpired, context.DeadlineExceeded)
	})
}

func TestMovedOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		for i := range 6 {
			f.move(i % 3)
			works(t, create(t, c, "s"+strconv.Itoa(i))) // by way of a wrong owner
			time.Sleep(20 * time.Second)
			works(t, h) // renewed at the new one
		}
		if c.directory.Load().Version != f.stamp.Version {
			t.Errorf("the directory is of version %d, the roster's is %d", c.directory.Load().Version, f.stamp.Version)
		}
	})
}

// TestDirectoryFollowsTheRoster: an answer by a newer roster is enough to have
// the directory fetched, though no call failed.
func TestDirectoryFollowsTheRoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		create(t, c, "orders")
		f.set(func() { f.stamp.Version++; f.members = append(f.members, "d:1") })
		time.Sleep(5 * time.Second)
		if n := len(c.Members()); n != 4 {
			t.Errorf("%d members are known", n)
		}
		if n := len(f.made(wire.PathDirectory)); n > 3 {
			t.Errorf("the directory was fetched %d times", n)
		}
	})
}

func TestRetriesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		f.set(func() { f.down["a:1"], f.down["b:1"], f.down["c:1"], f.calls = true, true, true, nil })
		cause := errors.New("no time")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, cause)
		defer cancel()
		_, err := c.OpenSequencer(ctx, "orders")
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		if n := len(f.made(wire.PathOpen)); n < 20 || n > 80 {
			t.Errorf("%d tries in 10 s", n)
		}
		wants(t, c.DestroySequencer(ctx, "orders"), sequencer.ErrUnavailable, context.DeadlineExceeded)
		_, err = Dial(ctx, Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: f}})
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		for _, addrs := range [][]string{nil, {"nonsense"}} {
			_, err = Dial(t.Context(), Config{Addrs: addrs, parts: calls.Parts{Transport: f}})
			wants(t, err, sequencer.ErrInvalidConfig)
		}
	})
}

// TestLostNode: a refused renewal leads to a new attachment with a fresh ID; what
// was granted before is used until it is there.
func TestLostNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		held, _ := c.handles.Live("orders").Control.Held()
		f.hook(func(_ context.Context, _, path string, _ any) error {
			if path == wire.PathAttach {
				return errCut
			}
			return nil
		})
		f.set(func() {
			ref := c.handles.Live("orders").Control.Ref()
			f.table.Expire("orders", held.Node, held.ID, 0)
			f.session(f.of("orders")).Drop("orders", held.ID)
			claim := partition.Claim{Ref: ref, ID: attachment.ID{1}, Preference: attachment.Preference{Node: held.Node}}
			if _, _, err := f.table.Attach(claim, f.bounds()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(6 * time.Second)
		works(t, h) // by the old grant
		f.hook(nil)
		time.Sleep(time.Second)
		works(t, h)
		now, _ := c.handles.Live("orders").Control.Held()
		if now.ID == held.ID || now.Node == held.Node || h.State() != sequencer.Attached {
			t.Errorf("the handle is %v with %v after %v", h.State(), now, held)
		}
	})
}

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		h := create(t, c, "orders")
		h.DetachWhenIdle(3 * time.Second)
		for range 3 {
			works(t, h)
			time.Sleep(2900 * time.Millisecond)
			if h.State() != sequencer.Attached {
				t.Error("detached too early")
			}
			time.Sleep(300 * time.Millisecond)
			if h.State() != sequencer.Detached || f.attached() != 0 {
				t.Errorf("the idle handle is %v, %d nodes are attached", h.State(), f.attached())
			}
		}
	})
}

// TestAnotherGrid: the next life of a grid has another time, taken when the
// directory is of that life.
func TestAnotherGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		create(t, c, "orders")
		f.set(func() { f.stamp.Grid, f.stamp.Version, f.skew = roster.GridID{2}, 1, -time.Hour })
		time.Sleep(5 * time.Second)
		if d := c.directory.Load(); d.Grid != f.stamp.Grid {
			t.Errorf("the directory is of grid %v", d.Grid)
		}
		if off := c.clock.Now() - f.now(); off < -20 || off > 20 {
			t.Errorf("the clock is %d ms off", off)
		}
	})
}

// deaf answers once, with an error, and then never.
type deaf struct {
	*fake
	said *atomic.Bool
}

func (d deaf) Call(ctx context.Context, addr, path string, in, out any) error {
	if d.said.CompareAndSwap(false, true) {
		return errors.New("tls: unknown authority")
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestDialTellsTheCause: the error contains a member's answer, although the context ended
// the last try.
func TestDialTellsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Dial(ctx, Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: deaf{newFake(), new(atomic.Bool)}}})
		wants(t, err, sequencer.ErrUnavailable, context.DeadlineExceeded)
		if !strings.Contains(err.Error(), "tls: unknown authority") {
			t.Errorf("%v does not contain the member's answer", err)
		}
	})
}

// TestWrongNode: a logical node that does not exist is not used.
func TestWrongNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c, err := Dial(t.Context(), Config{Addrs: []string{"a:1"}, parts: calls.Parts{Transport: wrongNode{f}}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		h, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Nodes: 128})
		wants(t, err, sequencer.ErrUnavailable)
		if h == nil || h.State() != sequencer.Detached {
			t.Errorf("the handle is %v", h)
		}
	})
}

type wrongNode struct{ *fake }

func (w wrongNode) Call(ctx context.Context, addr, path string, in, out any) error {
	err := w.fake.Call(ctx, addr, path, in, out)
	switch res := out.(type) {
	case *wire.AttachResponse:
		res.Node = 128
	case *wire.SequencerResponse:
		res.Attached.Node = 128
	}
	return err
}

// TestRenewalSize: a renewal is one call to each owner, and as large for a thousand
// sequencers as for those of one each partition (here six).
func TestRenewalSize(t *testing.T) {
	size := func(sequencers int) (bytes, calls int) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			c := f.dial(t)
			for i := range sequencers {
				create(t, c, "s"+strconv.Itoa(i))
			}
			time.Sleep(20 * time.Second) // until every owner knows everything
			f.set(func() { f.calls = nil })
			time.Sleep(time.Minute)
			for _, m := range f.made(wire.PathRenew) {
				body, err := wire.Encode(wire.MsgPack, m.in)
				if err != nil {
					t.Fatal(err)
				}
				bytes, calls = max(bytes, len(body)), calls+1
				if req := m.in.(wire.RenewRequest); len(req.Claims) > 0 {
					t.Errorf("%d handles were shown one by one", len(req.Claims))
				}
			}
		})
		return bytes, calls
	}
	few, fewCalls := size(40)
	many, manyCalls := size(1000)
	t.Logf("40 sequencers: %d calls of at most %d bytes; 1000: %d calls of at most %d bytes", fewCalls, few,
		manyCalls, many)
	if many > few+20 || manyCalls > fewCalls+fewCalls/5 {
		t.Errorf("%d calls of at most %d bytes for 1000, %d of %d for 40", manyCalls, many, fewCalls, few)
	}
}
