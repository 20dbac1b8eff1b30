package sequencer

import (
	"cmp"
	"context"
	"errors"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// How a Striped gets slots: it tries its stripes one after the other, none of which
// waits, and waits itself when all have failed.

// lookAgain is the longest wait of a Striped before it tries all stripes again. A wait is
// woken by changes of one stripe only; this interval detects those of the others.
const lookAgain clustertime.Span = 50

// attempt is the result of one attempt at one stripe.
type attempt struct {
	handle *Sequencer
	stripe int
	gen    *generator // nil when the handle is Detached
	seen   *rights    // loaded before the look, so that a wait misses no change; nil when Detached
	lost   *loss      // nodeless: the reason, and the channel for a wait
	slot   int64      // taken: the first of k
	k      int
	kept   int64            // a slot of gen that a waiting caller has reserved, negative for none
	at     clustertime.Tick // as of took
	out    outcome
	bar    error // the sentinel that keeps the handle from serving, nil if none does
}

// try reserves up to n slots if there are any now; it never waits, and keeps no slot
// whose time has not come.
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
		} // else what follows is there already
	}
}

// again is the same attempt after another look at the clock, with the slot that was kept
// first. A caller that waits may keep one.
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

// before reports whether a says better than b what can be waited for, or why nothing
// can.
func (a attempt) before(b attempt) bool {
	if a.bar != nil || b.bar != nil {
		return finality(a.bar) < finality(b.bar)
	}
	return a.wake() < b.wake()
}

// wake is when cluster time alone may end a wait. A generator that was stopped is
// being given up or replaced at this moment, so that ends before any time does.
func (a attempt) wake() clustertime.Tick {
	if a.out == stopped {
		return 0
	}
	return wakeTime(a.seen, a.at, a.out)
}

// finality orders what keeps stripes from serving: what holds for all comes first.
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

// barred is the finality of a stripe whose renewals are refused: another stripe, and every
// other reason, says more.
const barred = 9

// round tries every stripe once, from one on, until one gives something. If none does
// it returns the attempt that comes before the others.
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

// take reserves up to n slots of one stripe, waiting as long as it takes.
func (s *Striped) take(ctx context.Context, n, first int) (attempt, error) {
	a := s.round(n, first)
	if a.out != taken && a.bar == nil {
		return s.wait(ctx, n, first, a)
	}
	return a, a.failure()
}

// failure is the error of an attempt that cannot be waited for, nil if there is none.
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

// wait is take for as long as it takes, from a failed attempt on. The counts of the
// stripe that was tried first have the wait.
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

// await waits for the stripe of a failed attempt, with a slot of its next millisecond if it
// waits for that, and tries it once more. An error says why it waited, with how far cluster time was
// behind.
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
