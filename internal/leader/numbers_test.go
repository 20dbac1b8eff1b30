package leader

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// numbered returns the leader of a grid of three members with the numbers 1 to 3 in c/web:
// of member 2, of a client, and of a client that has not registered.
func numbered(t *testing.T) *office {
	o := lead(t, 3, true)
	o.assign()
	for id := range uint64(3) {
		o.apply(roster.Command{Identity: &roster.Identity{Cluster: "c", Name: "web",
			Apply: &roster.Application{ID: id + 1, Code: roster.Code{byte(id + 1)}}}})
	}
	for id, member := range []roster.MemberID{inc(2, 1).Member(), ""} {
		o.apply(roster.Command{Identity: &roster.Identity{Cluster: "c", Name: "web", Register: &roster.Registration{
			ID: uint64(id) + 1, Code: roster.Code{byte(id + 1)}, Start: roster.Code{byte(id + 1)}, Member: member,
		}}})
	}
	o.commands = nil
	return o
}

// life returns the leader's belief about the numbers 1 to 3.
func (o *office) life() (out []Liveness) {
	s, _ := o.v.Roster.Set("c", "web")
	for _, m := range s.Members {
		out = append(out, o.l.LivenessOf(o.v, "c", "web", m))
	}
	return out
}

// pass lets time pass in steps, as the member does.
func (o *office) pass(d time.Duration) {
	for range d / time.Second {
		o.step(time.Second)
		o.answer(forDetection, all)
	}
}

func TestWhoIsAlive(t *testing.T) {
	o := numbered(t)
	o.pass(time.Second)
	if got := o.life(); !slices.Equal(got, []Liveness{Alive, LivenessUnknown, LivenessUnknown}) {
		t.Errorf("right after the election: %v", got)
	}
	o.pass(time.Second)
	o.l.Sign(o.v, "c", "web", 2, nil)
	if got := o.life(); !slices.Equal(got, []Liveness{Alive, Alive, LivenessUnknown}) {
		t.Errorf("after a sign: %v", got)
	}
	o.pass(aliveFor - time.Second)
	if got := o.life(); !slices.Equal(got, []Liveness{Alive, Alive, Dead}) {
		t.Errorf("%s after the election: %v", aliveFor, got)
	}
	o.pass(2 * time.Second)
	if got := o.life(); !slices.Equal(got, []Liveness{Alive, Dead, Dead}) {
		t.Errorf("after the last sign: %v", got)
	}
	o.step(2 * SignEvery) // this process was paused, and has missed signs
	if got := o.life(); !slices.Equal(got, []Liveness{Alive, LivenessUnknown, LivenessUnknown}) {
		t.Errorf("after a pause: %v", got)
	}
	o.apply(roster.Command{From: o.v.Roster.Version, Change: &roster.Change{Remove: []roster.Incarnation{inc(2, 1)}}})
	o.pass(aliveFor)
	if got := o.life(); got[0] != Alive {
		t.Errorf("a member that gossip sees: %v", got)
	}
	o.unseen(2)
	if got := o.life(); got[0] != Dead {
		t.Errorf("a member that is gone: %v", got)
	}
}

// cleaned is the reply to a clean.
type cleaned struct {
	removed  []uint64
	proposed bool
	err      error
}

func (o *office) clean(force bool, ids ...uint64) *cleaned {
	out := &cleaned{err: errors.New("no reply")}
	o.l.Clean(o.v, "c", "web", ids, force,
		func(removed []uint64, proposed bool, err error) { *out = cleaned{removed, proposed, err} })
	return out
}

// agreeSteps applies the steps of sets that were proposed.
func (o *office) agreeSteps() {
	for len(o.commands) > 0 {
		c := o.commands[0]
		o.commands = o.commands[1:]
		if c.Identity == nil {
			continue
		}
		next, err := o.v.Roster.Apply(c)
		o.v.Roster = next
		o.l.Proposed(o.v, c, err)
	}
}

func TestCleanRefusesTheLiving(t *testing.T) {
	o := numbered(t)
	o.pass(time.Second)
	if got := o.clean(false, 3); !errors.Is(got.err, ErrAlive) ||
		!strings.Contains(got.err.Error(), "elected a moment ago") || got.proposed {
		t.Errorf("a new leader: %+v", got)
	}
	o.pass(aliveFor)
	o.l.Sign(o.v, "c", "web", 2, nil)
	if got := o.clean(false, 3, 2, 1); !errors.Is(got.err, ErrAlive) || !strings.Contains(got.err.Error(), "number 2") ||
		!strings.Contains(got.err.Error(), "number 1") {
		t.Errorf("one that runs: %+v", got)
	}
	got := o.clean(false, 3, 9)
	o.agreeSteps()
	if got.err != nil || !got.proposed || !slices.Equal(got.removed, []uint64{3}) {
		t.Errorf("one that is gone: %+v", got)
	}
	if got = o.clean(false, 3); got.err != nil || got.proposed || len(got.removed) > 0 {
		t.Errorf("again: %+v", got)
	}
	got = o.clean(true, 2, 1)
	o.agreeSteps()
	if s, _ := o.v.Roster.Set("c", "web"); got.err != nil || len(s.Members) != 0 || s.Next != 4 {
		t.Errorf("by force: %+v, %+v", got, s)
	}
	if life := o.l.LivenessOf(o.v, "c", "web", roster.Numbered{ID: 2}); life != Dead {
		t.Errorf("a removed number is %v", life)
	}
}

// TestCleanMeetsARegistration: a process that registers while its number is being removed
// keeps it.
func TestCleanMeetsARegistration(t *testing.T) {
	o := numbered(t)
	o.pass(aliveFor + time.Second)
	o.commands = nil
	got := o.clean(false, 3)
	register := roster.Identity{Cluster: "c", Name: "web", Register: &roster.Registration{ID: 3, Code: roster.Code{3},
		Start: roster.Code{9}}}
	o.l.Identify(o.v, register, func(_ bool, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	slices.Reverse(o.commands) // the registration comes first in the log
	o.l.Sign(o.v, "c", "web", 3, nil)
	o.agreeSteps()
	if s, _ := o.v.Roster.Set("c", "web"); !errors.Is(got.err, ErrAlive) || len(s.Members) != 3 {
		t.Errorf("%+v, %+v", got, s)
	}
}

// TestStepsOfSetsAreAnswered: by the log, or by the roster if that would change nothing.
func TestStepsOfSetsAreAnswered(t *testing.T) {
	o := numbered(t)
	var said []string
	try := func(id uint64, code byte) {
		o.l.Identify(o.v, roster.Identity{Cluster: "c", Name: "web",
			Apply: &roster.Application{ID: id, Code: roster.Code{code}}},
			func(proposed bool, err error) {
				said = append(said, fmt.Sprint(proposed, errors.Is(err, roster.ErrIDRefused), err == nil))
			})
	}
	try(1, 1) // given already
	try(1, 2) // of another
	try(4, 4)
	try(4, 5) // a moment later
	if want := []string{"false false true", "false true false"}; !slices.Equal(said, want) || len(o.commands) != 2 {
		t.Fatalf("%q, and %d commands", said, len(o.commands))
	}
	o.agreeSteps()
	if want := []string{"true false true", "true true false"}; !slices.Equal(said[2:], want) {
		t.Errorf("%q", said[2:])
	}
	var err error
	for range numbersPending + 1 {
		o.l.Identify(o.v, roster.Identity{Cluster: "c", Name: "web", Apply: &roster.Application{ID: 5, Code: roster.Code{6}}},
			func(_ bool, e error) { err = e })
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("too many steps at the same time: %v", err)
	}
	o.l.Resign()
	if !errors.Is(err, ErrNotLeading) || len(o.l.numbers.pending) > 0 {
		t.Errorf("after the lead: %v", err)
	}
}

// TestSignsAreBounded: those of numbers that were removed make room.
func TestSignsAreBounded(t *testing.T) {
	o := numbered(t)
	for id := range uint64(3 * roster.MaxNumbered) {
		o.l.Sign(o.v, "c", "web", id, nil)
	}
	if n := len(o.l.numbers.signs); n > 2*roster.MaxNumbered {
		t.Errorf("%d signs", n)
	}
	o.l.Sign(o.v, "c", "web", 1, map[string]uint16{"orders": 17})
	if before := o.l.Sign(o.v, "c", "web", 1, nil); before["orders"] != 17 {
		t.Errorf("%v", before)
	}
	if before := o.l.Sign(o.v, "c", "web", 1, nil); before["orders"] != 17 {
		t.Errorf("a sign without nodes: %v", before)
	}
}
