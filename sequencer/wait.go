package sequencer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
)

// farAhead is the end of a wait that only an event can end.
const farAhead clustertime.Tick = 1 << 60

// attachPause is the pause between two automatic attach attempts while no logical node is free.
const attachPause clustertime.Span = 50

// take reserves up to n slots, and waits as long as necessary. held is a slot of g that the caller
// has reserved already, negative for none.
func (s *Sequencer) take(ctx context.Context, n int, g *generator, held int64) (*generator, int64, int, error) {
	w := waiting{s: s, began: -1}
	defer w.end()
	for {
		t := s.now.Load()
		if t.gen != g {
			g.drop(held)
			g, held = t.gen, -1
		}
		if g == nil {
			w.note(stopped, 0)
			if err := s.revive(ctx, t); err != nil {
				return nil, 0, 0, err
			}
			continue
		}
		seen := g.rights.Load() // before take, so that no change is missed
		got := g.take(read(s.clock), n, held, ctx.Err() == nil)
		held = got.kept
		switch {
		case got.out == taken:
			return g, got.slot, got.k, nil
		case got.out == exhausted:
			return nil, 0, 0, s.exhausted()
		case got.out == copied:
			return nil, 0, 0, failure.Errorf(ErrClosed,
				"sequencer %q: this process is a fork of the one that has the handle, and would issue the same IDs; start "+
					"another member or client in it", s.Name())
		case got.out == stopped && s.now.Load() != t:
			continue // the next snapshot is there already
		}
		if got.out == noGrant && seen.refusedAt(got.at) != nil {
			g.drop(held)
			return nil, 0, 0, s.refused(seen.refused)
		}
		w.note(got.out, got.at)
		err := s.await(ctx, wakeTime(seen, got.at, got.out), seen.replaced, got.at, got.out)
		if err != nil {
			g.drop(held)
			return nil, 0, 0, s.waitError(err, w.behind, got.out)
		}
	}
}

// await waits until cluster time reaches until or wake is closed, after an attempt with the result
// out at at. It fails if ctx has ended or ends during the wait, however short that is: a loop that
// ends by the error must not depend on the length of its waits. The attempt may have waited for
// other callers; if its time has come since, await returns without a wait and without checking ctx.
func (s *Sequencer) await(ctx context.Context, until clustertime.Tick, wake <-chan struct{}, at clustertime.Tick,
	out outcome) error {
	if out == aheadTime && at <= s.clock.Now() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.clock.Wait(ctx, until, wake)
}

// waiting tracks the waits of one call for the handle's counts. The zero value does not wait.
type waiting struct {
	s     *Sequencer
	open  bool
	began clustertime.Tick // cluster time at which a wait for a grant began, negative for none
	// behind is the largest lag of cluster time behind the last ID during this wait for it, else 0.
	behind clustertime.Span
}

// note counts the call as waiting after an attempt at at, and as waiting for a grant while it lacks
// one.
func (w *waiting) note(out outcome, at clustertime.Tick) {
	if !w.open {
		w.open = true
		w.s.waitsOpen.Add(1)
	}
	if out == aheadTime {
		w.behind = max(w.behind, at.Sub(w.s.clock.Now()))
	} else {
		w.behind = 0
	}
	switch {
	case out != noGrant:
		w.endGrantWait()
	case w.began < 0:
		w.began = w.s.clock.Now()
		w.s.waits.Add(1)
	}
}

// endGrantWait ends a wait for a grant, if there is one. A wait that began while the time was
// unknown, at 0, is not timed.
func (w *waiting) endGrantWait() {
	if w.began <= 0 {
		w.began = -1
		return
	}
	waited := int64(w.s.clock.Now().Sub(w.began).Duration())
	w.s.waited.Add(max(waited, 0))
	longest := w.s.longest.Load()
	for waited > longest && !w.s.longest.CompareAndSwap(longest, waited) {
		longest = w.s.longest.Load()
	}
	w.began = -1
}

// end ends all waits of the call.
func (w *waiting) end() {
	w.endGrantWait()
	if w.open {
		w.s.waitsOpen.Add(-1)
	}
}

// wakeTime returns the cluster time that may end a wait without any event.
func wakeTime(seen *rights, at clustertime.Tick, out outcome) clustertime.Tick {
	switch out {
	case aheadTime:
		return at
	case noGrant:
		if from, ok := seen.after(at); ok {
			return from
		}
	}
	return farAhead
}

// waitError returns the reason for a wait that its context ended. behind is the largest lag of
// cluster time during the wait.
func (s *Sequencer) waitError(err error, behind clustertime.Span, out outcome) error {
	switch {
	case out == aheadTime && behind > trail:
		return failure.Errorf(ErrUnavailable,
			"sequencer %q: cluster time is before this handle's last ID; waiting for it to catch up: %w", s.Name(), err)
	case out == noGrant:
		return failure.Errorf(ErrGrantExpired, "sequencer %q: %s: %w", s.Name(), s.lack(), err)
	case out == aheadTime:
		return fmt.Errorf("sequencer %q: this logical node has no IDs left in this millisecond: %w", s.Name(), err)
	}
	return fmt.Errorf("sequencer %q: %w", s.Name(), err)
}

// lack returns the reason why the handle has no grant for the present time.
func (s *Sequencer) lack() string {
	seen, now := &rights{}, s.clock.Now()
	begins := clustertime.Tick(0) // of a handle that has had no grant yet: its first grant begins there
	remedy := ": check that the grid or the store is reachable, and that it has a quorum, then try again"
	if g := s.now.Load().gen; g != nil {
		if seen = g.rights.Load(); seen.until() == 0 {
			begins = g.timestamp(g.start + 1)
		}
		if failed := g.failed.Load(); failed != nil {
			remedy = "; last error: " + s.unnamed(*failed)
		}
	}
	from, later := seen.after(now)
	if !later {
		from = begins
	}
	if from > now && now > 0 {
		return fmt.Sprintf(
			"IDs begin at %s (in %v), where this handle's grant begins: an earlier run or holder may have issued IDs up to then",
			from.Time().Format(time.RFC3339), from.Sub(now).Duration())
	}
	if now == 0 {
		return "cluster time is not known here yet" + remedy
	}
	if seen.hold(now) {
		return "the grant has begun just now: try again"
	}
	if until := seen.until(); until > 0 && now > until {
		return fmt.Sprintf("grant used up %v ago and not renewed%s", now.Sub(until).Duration(), remedy)
	}
	return "grant used up and not renewed" + remedy
}

// revive attaches a handle again after an idle detach, or waits until a lost logical node is
// replaced. If it may do neither, it returns the reason.
func (s *Sequencer) revive(ctx context.Context, t *tenure) error {
	if t.final != nil {
		return s.named(t.final)
	}
	if t.lost != nil {
		if err := s.await(ctx, farAhead, t.lost.replaced, 0, nodeless); err != nil {
			return s.lossError(t.lost, err)
		}
		return nil
	}
	if t.by != byIdle && (t.by == byCaller || s.idle.Load() == 0) {
		return s.named(ErrDetached)
	}
	var full error // error of the last attempt that found no free logical node
	for {
		err := s.AttachLogicalNode(ctx)
		switch {
		case err == nil, errors.Is(err, ErrAttached):
			return nil
		case errors.Is(err, ErrNoFreeNode):
			full = err
		case full != nil && errors.Is(err, ctx.Err()):
			return failure.Errorf(err, "%w: %s", full, s.unnamed(err))
		default:
			return err
		}
		pause := s.clock.Now().Add(attachPause)
		if waitErr := s.clock.Wait(ctx, pause, nil); waitErr != nil {
			return fmt.Errorf("%w: %w", err, waitErr)
		}
	}
}

func (s *Sequencer) exhausted() error {
	return failure.Errorf(ErrEpochExhausted,
		"sequencer %q: epoch exhausted: its last ID was at %s; create one of another name with a later epoch",
		s.Name(), s.def.Exhausted().Format(time.RFC3339))
}

// refused returns the error of a handle whose grant has ended and will not be renewed.
func (s *Sequencer) refused(cause error) error {
	return failure.Errorf(ErrGrantExpired, "sequencer %q: its grant has ended, and is not renewed: %w", s.Name(), cause)
}

// unnamed returns an error's text without the sequencer's name, for another error that begins with
// it.
func (s *Sequencer) unnamed(err error) string {
	return strings.TrimPrefix(err.Error(), fmt.Sprintf("sequencer %q: ", s.Name()))
}

// named prefixes a sentinel with the sequencer's name.
func (s *Sequencer) named(err error) error { return fmt.Errorf("sequencer %q: %w", s.Name(), err) }
