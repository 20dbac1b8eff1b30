package sequencer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/cycles"
)

// steadyClock is cluster time by the monotonic clock, from 2000 on.
type steadyClock struct{ began time.Time }

func (c steadyClock) Now() clustertime.Tick {
	now, _, _ := c.Read()
	return now
}

func (c steadyClock) Read() (clustertime.Tick, time.Duration, time.Duration) {
	n := time.Since(c.began)
	return clustertime.Tick(2000).Add(clustertime.SpanOf(n)), time.Millisecond - n%time.Millisecond, n
}

func (c steadyClock) Wait(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) error {
	for {
		now, _, _ := c.Read()
		if now >= until {
			return nil
		}
		select {
		case <-time.After(min(time.Duration(until-now), 1000) * time.Millisecond):
		case <-wake:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// steady is an attached handle by a clock that runs.
func steady(t testing.TB, nodes int, grant bridge.Grant) (*Sequencer, *control, *fakeBackend) {
	t.Helper()
	backend := &fakeBackend{grant: grant}
	s, control := newSequencer(define(t, nodes), bridge.Life{1}, backend, steadyClock{time.Now()})
	if err := s.AttachLogicalNode(t.Context()); err != nil {
		t.Fatal(err)
	}
	calibrated(s.now.Load().gen)
	return s, control, backend
}

// TestSlotReservedBeforeAGapIsNotIssued: who reserved a slot beyond the end of a grant, and is slow,
// does not take it for one of the next grant when that has been published.
func TestSlotReservedBeforeAGapIsNotIssued(t *testing.T) {
	g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 2000, Until: 2001}}, 0, new(counts))
	takeAt(g, 2000, 1024)
	slow := g.next.Add(1) - 1
	g.extend(bridge.Grant{From: 2003, Until: 2010})
	if _, _, at, out := takeAt(g, 2003, 1); out != taken || at != 2003 {
		t.Fatalf("outcome %d at %d", out, at)
	}
	if limit := g.limit.Load(); slow >= limit {
		t.Errorf("slot %d of the gap lies beyond the limit %d: it would be told by that", slow, limit)
	}
	for _, c := range []struct{ slot, n, want int64 }{
		{slow, 10, 0}, {1003 << 10, 10, 10}, {1004<<10 - 3, 10, 3}, {1004 << 10, 10, 0},
	} {
		if n := g.within(c.slot, c.n); n != c.want {
			t.Errorf("%d of %d slots from %d lie within the bounds, want %d", n, c.n, c.slot, c.want)
		}
		if holds := g.holds(c.slot); holds != (c.want > 0) {
			t.Errorf("slot %d lies within the bounds: %v", c.slot, holds)
		}
	}
	if got := g.take(reading{now: 2003}, 1, slow, false); got.out != taken || got.at != 2003 {
		t.Errorf("with it: %+v", got)
	}
}

// TestLimitIsWithinTheGrant: slots of the trail are handed out up to the end of their
// grant, though the present lies beyond it.
func TestLimitIsWithinTheGrant(t *testing.T) {
	g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 2000, Until: 2002}}, 0, new(counts))
	takeAt(g, 2000, 1024)
	takeAt(g, 2000, 1) // there is none left
	if _, _, at, out := takeAt(g, 2003, 1); out != taken || at != 2001 {
		t.Fatalf("outcome %d at %d", out, at)
	}
	if limit := g.limit.Load(); limit != (2002-1000)<<10 {
		t.Errorf("the limit is slot %d of the millisecond %d", limit&1023, 1000+limit>>10)
	}
}

// load is callers of Next and Fill, and what they got.
type load struct {
	ids  [callers][]ID
	late [callers]int // IDs of a time to come
}

// run has every caller make some IDs, or fewer if an error ends it.
func (l *load) run(t *testing.T, s *Sequencer, each int, allowed error) {
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			batch := make([]ID, 1+i%3*40)
			for len(l.ids[i]) < each {
				n, err := l.get(t, s, batch)
				l.ids[i] = append(l.ids[i], batch[:n]...)
				if n > 0 && clustertime.TickOf(s.Definition().Decompose(batch[n-1]).Time) > s.clock.Now() {
					l.late[i]++
				}
				if err != nil {
					if !errors.Is(err, allowed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	all.Wait()
}

// get makes IDs, one by Next or more by Fill.
func (l *load) get(t *testing.T, s *Sequencer, batch []ID) (n int, err error) {
	if len(batch) > 1 {
		return s.Fill(t.Context(), batch)
	}
	if batch[0], err = s.Next(t.Context()); err != nil {
		return 0, err
	}
	return 1, nil
}

// check wants every ID once, each caller's ascending, none of a time to come, and
// all of timestamps that some grant holds.
func (l *load) check(t *testing.T, def Definition, held []bridge.Grant) {
	t.Helper()
	var ids []ID
	for i := range callers {
		if !slices.IsSorted(l.ids[i]) || l.late[i] > 0 {
			t.Errorf("caller %d: not ascending, or %d batches ahead of time", i, l.late[i])
		}
		ids = append(ids, l.ids[i]...)
	}
	slices.Sort(ids)
	for i, id := range ids {
		if i > 0 && id == ids[i-1] {
			t.Fatalf("%d twice", id)
		}
		if at := clustertime.TickOf(def.Decompose(id).Time); !anyHolds(held, at) {
			t.Fatalf("%d of %d lies outside %v", id, at, held)
		}
	}
}

// TestGrantsEndAndBeginUnderLoad: eight goroutines want more IDs than there are, while grants end and
// others begin after a gap.
func TestGrantsEndAndBeginUnderLoad(t *testing.T) {
	for nodes, worth := range map[int]int{128: 4, 8192: 40} { // ms of IDs for each caller
		held := []bridge.Grant{{From: 2000, Until: 2020}}
		s, control, _ := steady(t, nodes, held[0])
		for at := clustertime.Tick(2030); at < 2400; at += 30 {
			held = append(held, bridge.Grant{From: at, Until: at + 20})
		}
		held = append(held, bridge.Grant{From: 2430, Until: 1 << 40})
		renewals := make(chan struct{})
		go func() {
			defer close(renewals)
			for _, g := range held[1:] {
				_ = s.clock.Wait(t.Context(), g.From-15, nil) // some in time, before the last has ended
				control.Renewed(numbered(1), g)
			}
		}()
		var l load
		l.run(t, s, (1<<23)/nodes*worth, nil)
		<-renewals
		l.check(t, s.Definition(), held)
		made := 0
		for _, ids := range l.ids {
			made += len(ids)
		}
		if st := s.Stats(); st.IDs != uint64(made) || st.WaitingNow != 0 {
			t.Errorf("%d nodes: %d IDs made, %+v", nodes, made, st)
		}
	}
}

// TestDetachUnderLoad: the last timestamp that a handle reports is not below that of any
// caller's ID, also of callers that reserved a slot just before.
func TestDetachUnderLoad(t *testing.T) {
	for round := range 50 {
		s, _, backend := steady(t, []int{128, 8192}[round%2], bridge.Grant{From: 2000, Until: 1 << 40})
		var l load
		done := make(chan struct{})
		go func() { defer close(done); l.run(t, s, 1<<30, ErrDetached) }()
		_ = s.clock.Wait(t.Context(), s.clock.Now()+clustertime.Tick(round%5), nil)
		if err := s.DetachLogicalNode(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-done
		used := backend.released[0].LastUsed
		l.check(t, s.Definition(), []bridge.Grant{{From: 2000, Until: used + 1}})
		if used > s.clock.Now() {
			t.Fatalf("used %d, and it is %d", used, s.clock.Now())
		}
	}
}

// TestFresh: below the limit a timestamp is not older than the call.
func TestFresh(t *testing.T) {
	s, _, _ := steady(t, 128, bridge.Grant{From: 2000, Until: 1 << 40})
	for i := range 200_000 {
		before := s.clock.Now()
		id, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if at := clustertime.TickOf(s.Definition().Decompose(id).Time); at < before || at > s.clock.Now() {
			t.Fatalf("ID %d, asked for at %d, has timestamp %d", i, before, at)
		}
	}
}

// TestWrongCounter: a cycle counter that does not advance, jumps or is wrong makes
// timestamps old, without any other effect.
func TestWrongCounter(t *testing.T) {
	for _, deadline := range []int64{1<<63 - 1, -1 << 63, 0, 1} {
		g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 2000, Until: 2003}}, 0, new(counts))
		takeAt(g, 2000, 1)
		g.deadline.Store(deadline)
		g.saturated.Store(true) // few check the clock
		last := int64(-1)
		for range 3 * 1024 {
			slot, ok := g.quick()
			if ok && (slot <= last || slot>>10 != 1000) {
				t.Fatalf("deadline %d: slot %d after %d", deadline, slot, last)
			}
			if ok {
				last = slot
			}
		}
	}
}

// TestContended: who adds alone never backs off, and who was followed by another does.
func TestContended(t *testing.T) {
	g := newGenerator(define(t, 128), attachment{Grant: bridge.Grant{From: 2000, Until: 2003}}, 0, new(counts))
	takeAt(g, 2000, 1)
	for range 100 {
		if slot, ok := g.reserve(); !ok || g.contended(slot) {
			t.Fatalf("alone: slot %d, %v, contended", slot, ok)
		}
	}
	slot, _ := g.reserve()
	if g.reserve(); !g.contended(slot) {
		t.Errorf("no caller was seen to follow slot %d", slot)
	}
}

// TestIdleGeneratorHasNoTimer: some time after the last call the timer has ended.
func TestIdleGeneratorHasNoTimer(t *testing.T) {
	s, _, _ := steady(t, 128, bridge.Grant{From: 2000, Until: 1 << 40})
	buffer := make([]ID, 1000)
	for !s.now.Load().gen.saturated.Load() {
		if _, err := s.Fill(t.Context(), buffer); err != nil {
			t.Fatal(err)
		}
	}
	g := s.now.Load().gen
	for armed := true; armed; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		armed = g.saturation.armed
		g.mu.Unlock()
	}
	if g.saturated.Load() {
		t.Error("saturated mode without callers")
	}
}

// TestNewGeneratorKnowsThePace that another one has measured.
func TestNewGeneratorKnowsThePace(t *testing.T) {
	if !cycles.Constant() {
		t.Skip("this processor's counter has no constant pace to measure")
	}
	measuredPace.Store(0)
	began := time.Now()
	look := func(g *generator) int64 {
		r := reading{lasts: time.Millisecond, cycles: cycles.Now(), mono: time.Since(began)}
		r.now, r.after = clustertime.Tick(2000).Add(clustertime.SpanOf(r.mono)), cycles.Now()
		g.take(r, 1, -1, false)
		return g.perMilli.Load()
	}
	attached := attachment{Grant: bridge.Grant{From: 2000, Until: 1 << 40}}
	first := newGenerator(define(t, 128), attached, 0, new(counts))
	if pace := look(first); pace != 0 {
		t.Errorf("%d cycles a millisecond after one look", pace)
	}
	for look(first) == 0 {
	}
	if look(newGenerator(define(t, 128), attached, 0, new(counts))) == 0 {
		t.Error("the next one does not know it")
	}
}

// TestLateReadingChangesNoBounds: a caller that waited for the lock while another one read the
// clock takes its slot, and does not change the state of the present millisecond.
func TestLateReadingChangesNoBounds(t *testing.T) {
	g := newGenerator(define(t, 8192), attachment{Grant: bridge.Grant{From: 2000, Until: 2100}}, 0, new(counts))
	calibrated(g)
	early := reading{now: 2000, lasts: time.Microsecond, cycles: cycles.Now()}
	sooner := reading{now: 2001, lasts: time.Millisecond, cycles: early.cycles + 1}
	latest := reading{now: 2001, lasts: time.Millisecond, cycles: early.cycles + 2}
	g.take(latest, 1, -1, false)
	deadline := g.deadline.Load()
	for _, late := range []reading{early, sooner} {
		if got := g.take(late, 1, -1, false); late == sooner && got.out != taken {
			t.Errorf("%+v", got)
		}
		if got := g.deadline.Load(); got != deadline {
			t.Errorf("after a look at %d the millisecond ends at %d, not %d", late.now, got, deadline)
		}
	}
}
