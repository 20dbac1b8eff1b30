package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestCallPauses: the pauses between the tries of a call grow to a bound.
func TestCallPauses(t *testing.T) {
	whole := func(below time.Duration) time.Duration { return below - 1 }
	c := New(Config{Rand: whole}).NewCall()
	var got []time.Duration
	for range 8 {
		retry, again := c.Tried(0, "a", sequencer.ErrUnavailable)
		if !again || !retry.LookUp {
			t.Fatalf("an unreachable owner: %+v, %v", retry, again)
		}
		got = append(got, retry.Pause/time.Millisecond)
	}
	if want := []time.Duration{10, 20, 40, 80, 160, 320, 400, 400}; !slices.Equal(got, want) {
		t.Errorf("the pauses are %v ms, want %v", got, want)
	}
}

// TestCallsWorthAnotherTry: passing errors are tried again, and one that only took too
// long without a look-up.
func TestCallsWorthAnotherTry(t *testing.T) {
	slow := fmt.Errorf("member at a: %w: %w", sequencer.ErrUnavailable, context.DeadlineExceeded)
	for _, c := range []struct {
		err           error
		again, lookUp bool
	}{
		{nil, false, false},
		{roster.ErrWrongOwner, true, true},
		{sequencer.ErrUnavailable, true, true},
		{sequencer.ErrClosed, true, true},
		{context.Canceled, true, true},
		{slow, true, false},
		{sequencer.ErrNoFreeNode, false, false},
		{sequencer.ErrQuota, false, false},
		{sequencer.ErrConflict, false, false},
		{sequencer.ErrDestroyed, false, false},
		{errors.New("any other"), false, false},
	} {
		retry, again := newStage().m.NewCall().Tried(0, "a", c.err)
		if again != c.again || retry.LookUp != c.lookUp {
			t.Errorf("%v: %+v, %v", c.err, retry, again)
		}
	}
}

// TestRetryBudget: of many calls that fail at the same time a hundred are tried again as if
// alone, fifty more in each second, and none later than four seconds after.
func TestRetryBudget(t *testing.T) {
	m := New(Config{Rand: func(time.Duration) time.Duration { return 0 }})
	var soon, later, last int
	for range 1000 {
		retry, again := m.NewCall().Tried(time.Hour, "a", sequencer.ErrUnavailable)
		switch {
		case !again:
			t.Fatal("no other try")
		case retry.Pause == firstPause/2:
			soon++
		case retry.Pause < retryWaitMax:
			later++
		case retry.Pause == retryWaitMax:
			last++
		}
	}
	if soon != 100 || later != 199 || last != 701 {
		t.Errorf("%d tries soon, %d later, %d at last", soon, later, last)
	}
	if retry, _ := m.NewCall().Tried(time.Hour+7*time.Second, "a", sequencer.ErrUnavailable); retry.Pause != firstPause/2 {
		t.Errorf("after the budget is whole again: a pause of %v", retry.Pause)
	}
}

// later is a refusal that names a time.
type later struct{ after time.Duration }

func (l later) Error() string             { return "too many calls" }
func (l later) Unwrap() error             { return sequencer.ErrQuota }
func (l later) RetryAfter() time.Duration { return l.after }

// TestCallIsRepeatedWhenTheMemberSaid: of calls that are too many per second.
func TestCallIsRepeatedWhenTheMemberSaid(t *testing.T) {
	for _, spread := range []time.Duration{0, time.Second} {
		c := New(Config{Rand: func(below time.Duration) time.Duration { return min(spread, below-1) }}).NewCall()
		retry, again := c.Tried(0, "a", fmt.Errorf("wrapped: %w", later{2 * time.Second}))
		if want := 2*time.Second + spread; !again || retry.LookUp || retry.Pause != want {
			t.Errorf("%+v, %v, want a pause of %v", retry, again, want)
		}
	}
}

// overloaded is the refusal of a member that has too much to do.
type overloaded struct{ later }

func (overloaded) Unwrap() error { return sequencer.ErrUnavailable }

// TestCallWaitsForAnOverloadedMember: as long as the member said, and with a look-up from the
// second refusal in succession on, since such a member may have been replaced.
func TestCallWaitsForAnOverloadedMember(t *testing.T) {
	whole := func(below time.Duration) time.Duration { return below - 1 }
	c := New(Config{Rand: whole}).NewCall()
	refused := fmt.Errorf("wrapped: %w", overloaded{later{2 * time.Second}})
	for i, step := range []struct {
		err    error
		lookUp bool
	}{{refused, false}, {refused, true}, {refused, true}, {later{2 * time.Second}, false}, {refused, false}} {
		retry, again := c.Tried(0, "a", step.err)
		if want := 3 * time.Second; !again || retry.LookUp != step.lookUp || retry.Pause != want {
			t.Errorf("try %d: %+v, %v, want a pause of %v", i, retry, again, want)
		}
	}
	if retry, _ := c.Tried(0, "a", sequencer.ErrUnavailable); retry.Pause >= 2*firstPause {
		t.Errorf("the refusals lengthened the pause after another failure to %v", retry.Pause)
	}
}

// TestRenewalWaitsForAnOverloadedOwner: as long as the owner said, but not so long that grants
// end, and with a look-up at the second refusal only.
func TestRenewalWaitsForAnOverloadedOwner(t *testing.T) {
	for _, c := range []struct{ said, want time.Duration }{
		{time.Millisecond, RetryAfter}, {time.Second, time.Second}, {time.Hour, 20 * time.Second / 4},
	} {
		s, h := ready(t)
		for try, lookUp := range []bool{false, true} {
			s.mono = h.next
			s.m.Look(s.now())
			r := s.m.Take().Renew
			if len(r) != 1 {
				t.Fatalf("said %v, try %d: %d renewals", c.said, try, len(r))
			}
			s.m.Renewed(s.now(), r[0], Renewed{}, overloaded{later{c.said}})
			if got := h.next - s.mono; try == 0 && got != c.want {
				t.Errorf("said %v: the next renewal is after %v, want %v", c.said, got, c.want)
			}
			if got := s.m.Take().LookUp; got != lookUp {
				t.Errorf("said %v, refusal %d: look-up %v", c.said, try, got)
			}
		}
	}
}

// TestSlowTries: while a call is not answered its owner is looked up ever more seldom.
func TestSlowTries(t *testing.T) {
	var got []time.Duration
	for looks := range 5 {
		got = append(got, SlowTry(looks)/time.Millisecond)
	}
	if want := []time.Duration{200, 200, 400, 800, 1600}; !slices.Equal(got, want) {
		t.Errorf("looks after %v ms, want %v", got, want)
	}
}

// TestLookUpAsksEachMemberOnce: the members of the directory, beginning with another one
// each time, and then the addresses of the configuration.
func TestLookUpAsksEachMemberOnce(t *testing.T) {
	s, _ := ready(t)
	for _, want := range [][]string{{"b", "a", "any", ""}, {"a", "b", "any", ""}} {
		l := s.m.NewLookUp(true)
		var got []string
		for range want {
			got = append(got, l.Ask())
		}
		if !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
		for i := range 3 {
			if all := l.Failed(); all != (i == 2) {
				t.Errorf("a look-up of three members failed after %d: %v", i+1, all)
			}
		}
	}
	if s.m.KnownSince(0) || !s.m.KnownSince(-1) || newStage().m.KnownSince(-1) {
		t.Error("a directory that was asked for at 0 is one asked for before 0 only")
	}
	urgent, other := s.m.NewLookUp(true), s.m.NewLookUp(false)
	if urgent.Patience() != nextMember || other.Patience() != CallTimeout {
		t.Errorf("patience is %v and %v", urgent.Patience(), other.Patience())
	}
	if urgent.Waited(); urgent.Patience() != 2*nextMember {
		t.Errorf("the second member has %v", urgent.Patience())
	}
	if urgent.Hurry() || urgent.Patience() != 2*nextMember {
		t.Errorf("an urgent look-up is hurried again: %v", urgent.Patience())
	}
	if !other.Hurry() || other.Hurry() || other.Patience() != nextMember {
		t.Errorf("a look-up is hurried once: %v", other.Patience())
	}
}

// TestStaleAnswers: an answer to a request sent long ago tells no time, but its version
// counts.
func TestStaleAnswers(t *testing.T) {
	s, _ := ready(t)
	for age, want := range map[time.Duration]clustertime.Tick{StaleAnswer: s.stamp(5).Time, StaleAnswer + 1: 0} {
		s.m.Stamped(Now{Mono: age}, s.stamp(5), 0)
		if e := s.m.Take(); e.Time != want || e.LookUp {
			t.Errorf("an answer after %v: time %d, look-up %v", age, e.Time, e.LookUp)
		}
	}
	s.m.Stamped(Now{Mono: time.Hour}, s.stamp(6), 0)
	if e := s.m.Take(); e.Time != 0 || !e.LookUp {
		t.Errorf("an old answer of a newer version: time %d, look-up %v", e.Time, e.LookUp)
	}
}

// TestCallThatMoves: a call follows a few owners in succession without a pause, then pauses once. An owner
// that is tried again ends the succession.
func TestCallThatMoves(t *testing.T) {
	c := newStage().m.NewCall()
	for i, step := range []struct {
		owner  string
		follow bool
	}{{"a", true}, {"b", true}, {"a", true}, {"b", false}, {"a", true}, {"a", true}, {"b", true}, {"a", true},
		{"b", true}, {"a", false}} {
		if retry, again := c.Tried(0, step.owner, sequencer.ErrUnavailable); !again || retry.Follow != step.follow {
			t.Errorf("try %d at %s: %+v, %v", i, step.owner, retry, again)
		}
	}
}
