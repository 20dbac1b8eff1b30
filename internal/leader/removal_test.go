package leader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// disk has a partition name the disks of members.
func (o *office) disk(members ...int) {
	r := *o.v.Roster
	r.Partitions = slices.Clone(r.Partitions)
	for _, m := range members {
		r.Partitions[1].Disk = append(r.Partitions[1].Disk, inc(m, 1).Member())
	}
	o.v.Roster = &r
}

// outcome is the reply to a request.
type outcome struct {
	done bool
	out  Removed
	err  error
}

// remove has an operator take a member out, while some members are silent.
func (o *office) remove(member int, silent ...int) *outcome {
	var got outcome
	o.l.RemoveMember(o.v, inc(member, 1).Member(), "ops", func(out Removed, err error) { got = outcome{true, out, err} })
	o.answer(forRemoval, func(member int) error {
		if slices.Contains(silent, member) {
			return context.DeadlineExceeded
		}
		return nil
	})
	return &got
}

// TestMemberIsRemoved: a member that runs is told to leave, and leaves by the word of its
// own confirmation; the leader is told as well.
func TestMemberIsRemoved(t *testing.T) {
	for _, member := range []int{1, 3, 5} {
		o := lead(t, 5, true)
		o.assign()
		got := o.remove(member)
		if got.done || len(o.dismiss) != 1 || o.dismiss[0].To != inc(member, 1) || o.dismiss[0].API == "" ||
			o.dismiss[0].By != "ops" {
			t.Fatalf("member %d: %+v, %+v", member, got, o.dismiss)
		}
		o.l.Dismissed(o.v, o.dismiss[0], nil)
		if want := (Removed{Member: inc(member, 1).Member(), Leaving: inc(member, 1),
			API: o.dismiss[0].API}); got.err != nil || got.out != want {
			t.Errorf("member %d: %+v", member, got)
		}
		if leaves := o.l.admission.leaves[inc(member, 1)]; leaves != (member != 1) { // the leader says so itself
			t.Errorf("member %d: leaves %v", member, leaves)
		}
	}
	o := lead(t, 2, true)
	if o.remove(1); len(o.dismiss) != 1 {
		t.Error("the only voter of two members is not told to leave")
	}
	o = lead(t, 3, true)
	got := o.remove(2)
	o.l.Dismissed(o.v, o.dismiss[0], context.DeadlineExceeded)
	if !errors.Is(got.err, ErrUnavailable) || o.l.admission.leaves[inc(2, 1)] {
		t.Errorf("not confirmed: %+v", got)
	}
}

// TestRemovalIsRefused: where the rest would have no majority, or data would be lost, and
// where there is nothing to remove. Nothing is done then.
func TestRemovalIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		members  int
		volatile bool
		remove   int
		silent   []int
		change   func(o *office)
		want     error
	}{
		"a voter while another is silent":    {3, false, 2, []int{3}, nil, ErrNotNow},
		"the leader while another is silent": {3, false, 1, []int{3}, nil, ErrNotNow},
		"a voter while another leaves": {3, false, 2, nil, func(o *office) { o.l.admission.leaves[inc(3, 1)] = true },
			ErrNotNow},
		"a voter of five, two silent": {5, false, 2, []int{4, 5},
			func(o *office) { o.grid(5); o.vote(1, 2, 3, 4, 5) }, ErrNotNow},
		"one that is silent": {5, false, 5, []int{5}, nil, ErrUnavailable},
		"a stranger":         {3, false, 9, nil, nil, ErrNotNeeded},
		"one that leaves": {5, false, 5, nil, func(o *office) { o.l.admission.leaves[inc(5, 1)] = true },
			ErrNotNeeded},
		"one that is about to join": {5, false, 5, nil, func(o *office) { o.without(5) }, ErrNotNow},
		"the only one":              {1, false, 1, nil, func(o *office) { o.vote() }, ErrNotNow},
		"the only disk":             {3, true, 2, nil, func(o *office) { o.disk(2) }, ErrNotNow},
		"a dead one with the last disk": {4, false, 3, nil, func(o *office) { o.without(3); o.unseen(3); o.disk(3) },
			ErrNotNow},
		"a dead voter while the rest is less": {4, false, 3, []int{2}, func(o *office) { o.without(3); o.unseen(3) },
			ErrNotNow},
	} {
		o := lead(t, c.members, !c.volatile)
		o.assign()
		if c.change != nil {
			c.change(o)
		}
		got := o.remove(c.remove, c.silent...)
		if !got.done || !errors.Is(got.err, c.want) || got.out != (Removed{}) || len(o.dismiss) > 0 ||
			len(o.l.voters.givenUp) > 0 || len(o.l.removals.open) > 0 {
			t.Errorf("%s: %+v, %+v", what, got, o.dismiss)
		}
	}
}

// TestDeadVoterIsRemoved: the vote that a dead member's disk keeps is given up, although no
// other member votes in its place, and the voters that stay become fewer.
func TestDeadVoterIsRemoved(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.without(3)
	o.unseen(3)
	o.disk(2, 3)
	if got := o.settle(); len(got) != 0 {
		t.Fatalf("done %v before", got)
	}
	got := o.remove(3)
	if got.done {
		t.Fatalf("%+v before its server is removed", got)
	}
	if done, want := o.settle(), [][2]int{{int(Remove), 3}, {int(Demote), 2}}; !slices.Equal(done, want) {
		t.Errorf("done %v, want %v", done, want)
	}
	if want := (Removed{Member: inc(3, 1).Member(), Disks: 1}); got.err != nil || got.out != want {
		t.Errorf("%+v", got)
	}
	if len(o.l.voters.givenUp) > 0 {
		t.Error("it is remembered")
	}
}

// TestRemovalIsNotAwaitedForLong: the reply comes in time, and the requests are bounded.
func TestRemovalIsNotAwaitedForLong(t *testing.T) {
	o := lead(t, 3, true)
	o.assign()
	o.without(3)
	o.unseen(3)
	got := o.remove(3)
	for range 11 {
		o.step(time.Second)
	}
	if !errors.Is(got.err, ErrUnavailable) {
		t.Errorf("%+v", got)
	}
	var last error
	for range removalsMax + 1 {
		o.l.RemoveMember(o.v, inc(2, 1).Member(), "ops", func(_ Removed, err error) { last = err })
	}
	if !errors.Is(last, ErrUnavailable) || len(o.l.removals.open) != removalsMax {
		t.Errorf("%d requests, %v", len(o.l.removals.open), last)
	}
}

// expecting returns a leader of members of which so many are meant to run.
func expecting(t *testing.T, members, expect int) *office {
	o := lead(t, members, true)
	o.assign()
	o.agree()
	r := *o.v.Roster
	r.Settings.Expect = expect
	o.v.Roster = &r
	return o
}

// TestRemovalLowersExpect: an operator's removal lowers the number of members that are meant to run by
// one, unless as many run without the removed one.
func TestRemovalLowersExpect(t *testing.T) {
	for _, c := range []struct{ members, expect, want int }{{3, 3, 2}, {4, 3, 3}, {3, 5, 4}, {3, 0, 0}, {2, 1, 1}} {
		o := expecting(t, c.members, c.expect)
		got := o.remove(2)
		if len(o.dismiss) != 1 {
			t.Fatalf("%+v: %+v", c, got)
		}
		o.l.Dismissed(o.v, o.dismiss[0], nil)
		if got.done != (c.want == c.expect) {
			t.Errorf("%+v: answered before the change is agreed on: %v", c, got.done)
		}
		o.agree()
		if !got.done || got.err != nil || got.out.Leaving != inc(2, 1) || o.v.Roster.Settings.Expect != c.want {
			t.Errorf("%+v: %+v, expect %d", c, got, o.v.Roster.Settings.Expect)
		}
	}
}

// TestRemovalsLowerExpect: each of two removals lowers the number, also while the first member is
// still leaving. A refused one does not.
func TestRemovalsLowerExpect(t *testing.T) {
	o := expecting(t, 6, 5)
	for i, want := range []int{5, 4, 3, 3} {
		got := o.remove(6 - i)
		if len(o.dismiss) != i+1 {
			t.Fatalf("%+v", got)
		}
		var err error
		if i == 3 {
			err = context.DeadlineExceeded
		}
		o.l.Dismissed(o.v, o.dismiss[i], err)
		o.agree()
		if n := o.v.Roster.Settings.Expect; n != want {
			t.Errorf("expect %d after removal %d, want %d", n, i, want)
		}
	}
}

// TestRemovalOfADeadVoterLowersExpect: the vote of a member that is gone is given up, and then the
// number is lowered. The request is answered once that is agreed on.
func TestRemovalOfADeadVoterLowersExpect(t *testing.T) {
	o := expecting(t, 3, 3)
	o.without(3)
	o.unseen(3)
	o.disk(2, 3)
	got := o.remove(3)
	o.settle()
	if got.done {
		t.Errorf("%+v before the number is lowered", got)
	}
	o.agree()
	if n := o.v.Roster.Settings.Expect; n != 2 || !got.done || got.err != nil || got.out.Member != inc(3, 1).Member() {
		t.Errorf("expect %d: %+v", n, got)
	}
}

// TestRemovalNamesALostChange: the lead ends before the lower number is agreed on.
func TestRemovalNamesALostChange(t *testing.T) {
	o := expecting(t, 3, 3)
	got := o.remove(2)
	o.l.Dismissed(o.v, o.dismiss[0], nil)
	o.l.Resign()
	if !errors.Is(got.err, errNotLeading) || got.out != (Removed{}) ||
		!strings.Contains(got.err.Error(), "leaves the grid; the number of expected members may be as before") {
		t.Errorf("%+v", got)
	}
}
