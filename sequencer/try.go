package sequencer

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// A Striped gets slots by trying its stripes in turn, without waiting, and waits when all have
// failed.

// lookAgain is the longest wait of a Striped before it tries all stripes again. Only changes of one
// stripe wake a wait; this interval detects changes of the others.
const lookAgain clustertime.Span = 50

// attempt is the result of one attempt at one stripe.
type attempt struct {
	handle *Sequencer
	stripe int
	gen    *generator // nil when the handle is Detached
	seen   *rights    // rights loaded before the attempt, so that a wait misses no change; nil when Detached
	lost   *loss      // nodeless: the reason, and the channel for a wait
	slot   int64      // taken: the first of k
	k      int
	kept   int64            // a slot of gen that a waiting caller has reserved, negative for none
	at     clustertime.Tick // as in took
	out    outcome
	bar    error // the sentinel that keeps the handle from serving, or nil
}

// try reserves up to n slots if any are available; it never waits, and keeps no slot whose
// millisecond has not begun.
func (s *Sequencer) try(n int) attempt {
	for {
		t := s.now.Load()
		g := t.gen
		switch {
		case t.lost != nil:
			return attempt{handle: s, kept: -1, out: nodeless, lost: t.lost}
		case g == nil:
			return attempt{handle: s, kept: -1, out: stopped, bar: cmp.Or(t.final, ErrDetached)}
		}
		if slot, k := g.reserveMany(n); k > 0 {
			return attempt{handle: s, gen: g, slot: slot, k: k, kept: -1}
		}
		a := attempt{handle: s, gen: g, kept: -1}.again(n, false)
		if a.out != stopped || s.now.Load() == t {
			return a
		} // else the next snapshot is there already
	}
}

// again repeats the attempt with another clock reading and the kept slot first. A caller that waits
// may keep one.
func (a attempt) again(n int, waits bool) attempt {
	a.seen = a.gen.rights.Load()
	got := a.gen.take(read(a.handle.clock), n, a.kept, waits)
	a.slot, a.k, a.kept, a.at, a.out = got.slot, got.k, got.kept, got.at, got.out
	switch a.out {
	case exhausted:
		a.bar = ErrEpochExhausted
	case copied:
		a.bar = ErrClosed
	case noGrant:
		a.bar = a.seen.refusedAt(a.at)
	}
	return a
}

// before reports whether a takes precedence over b: it can be waited for sooner, or has the more
// final error.
func (a attempt) before(b attempt) bool {
	if a.bar != nil || b.bar != nil {
		return finality(a.bar) < finality(b.bar)
	}
	return a.wake() < b.wake()
}

// wake returns the cluster time that may end a wait without any event. A stopped generator is being
// released or replaced at this moment, which ends the wait before any time does.
func (a attempt) wake() clustertime.Tick {
	if a.out == stopped {
		return 0
	}
	return wakeTime(a.seen, a.at, a.out)
}

// finality ranks the reasons that keep stripes from serving: a reason common to all comes first.
func finality(bar error) int {
	for i, sentinel := range [...]error{ErrDestroyed, ErrEpochExhausted, ErrClosed, ErrDetached} {
		if errors.Is(bar, sentinel) {
			return 1 + i
		}
	}
	if bar != nil {
		return barred
	}
	return 0
}

// barred is the finality of a stripe whose renewals are refused: every other reason, and the state
// of another stripe, is more informative.
const barred = 9

// round tries every stripe once, starting at first, until one has slots. If none has, it returns
// the attempt that takes precedence.
func (s *Striped) round(n, first int) attempt {
	var best attempt
	for i, at := 0, first; i < len(s.stripes); i++ {
		a := s.stripes[at].try(n)
		a.stripe = at
		if a.out == taken {
			return a
		}
		if i == 0 || a.before(best) {
			best = a
		}
		if at++; at == len(s.stripes) {
			at = 0
		}
	}
	return best
}

// take reserves up to n slots of one stripe, and waits as long as necessary.
func (s *Striped) take(ctx context.Context, n, first int) (attempt, error) {
	a := s.round(n, first)
	if a.out != taken && a.bar == nil {
		return s.wait(ctx, n, first, a)
	}
	return a, a.failure()
}

// failure returns the error of an attempt that cannot be waited for, or nil.
func (a attempt) failure() error {
	switch {
	case a.bar == nil:
		return nil
	case errors.Is(a.bar, ErrEpochExhausted):
		return a.handle.exhausted()
	case a.out == noGrant:
		return a.handle.refused(a.bar)
	}
	return a.handle.named(a.bar)
}

// wait continues take after a failed attempt, for as long as necessary. It counts the wait for the
// stripe that was tried first.
func (s *Striped) wait(ctx context.Context, n, first int, a attempt) (attempt, error) {
	w := waiting{s: s.stripes[first], began: -1}
	defer w.end()
	for a.out != taken && a.bar == nil {
		w.note(a.out, a.at)
		var err error
		if a, err = s.await(ctx, n, a, w.behind); err != nil {
			return attempt{}, err
		}
		if a.out != taken {
			a = s.round(n, first)
		}
	}
	return a, a.failure()
}

// await waits for the stripe of a failed attempt, if necessary with a reserved slot of its next
// millisecond, and tries it once more. An error names the reason for the wait, and the time by
// which cluster time was behind.
func (s *Striped) await(ctx context.Context, n int, a attempt, behind clustertime.Span) (attempt, error) {
	if a.out == aheadTime && ctx.Err() == nil {
		if a = a.again(n, true); a.out != aheadTime {
			return a, nil
		}
	}
	until := min(wakeTime(a.seen, a.at, a.out), a.handle.clock.Now().Add(lookAgain))
	if a.lost != nil {
		if err := a.handle.await(ctx, until, a.lost.replaced, a.at, a.out); err != nil {
			return attempt{}, a.handle.lossError(a.lost, err)
		}
		return a, nil
	}
	if err := a.handle.await(ctx, until, a.seen.replaced, a.at, a.out); err != nil {
		a.gen.drop(a.kept)
		return attempt{}, a.handle.waitError(err, behind, a.out)
	}
	a = a.again(n, false)
	a.gen.drop(a.kept)
	return a, nil
}
