package numbers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// leading is the tracker of a leader, whose log has the commands that it proposed.
type leading struct {
	t   *testing.T
	all Tracker
	v   View
	log []*Command
}

// numbered returns the tracker of a grid with the numbers 1 to 3 in c/web: of a member, of a client,
// and of a client that has not registered.
func numbered(t *testing.T) *leading {
	l := &leading{t: t, all: NewTracker()}
	l.v = View{Grid: "g", Now: time.Hour, Sees: func(member string) bool { return member != "" },
		Try: func(c *Command) (bool, error) {
			_, changed, err := l.v.Registry.Apply(*c)
			return changed, err
		},
		Propose: func(c *Command) { l.log = append(l.log, c) }}
	for id := range uint64(3) {
		l.log = append(l.log, &Command{Cluster: "c", Name: "web", Apply: &Application{ID: id + 1, Code: Code{byte(id + 1)}}})
	}
	for id, member := range []string{"00000000000000a2", ""} {
		l.log = append(l.log, &Command{Cluster: "c", Name: "web", Register: &Registration{
			ID: uint64(id) + 1, Code: Code{byte(id + 1)}, Start: Code{byte(id + 1)}, Member: member,
		}})
	}
	l.agree()
	return l
}

// tracker returns the tracker at the newest view.
func (l *leading) tracker() *Tracker {
	l.all.Look(l.v)
	return &l.all
}

func (l *leading) set() Set {
	s, _ := l.v.Registry.Set("c", "web")
	return s
}

// life returns the leader's belief about the numbers 1 to 3.
func (l *leading) life() (out []Liveness) {
	for _, p := range l.set().Members {
		out = append(out, l.tracker().LivenessOf("c", "web", p))
	}
	return out
}

// pass lets time pass in steps, as the leader does.
func (l *leading) pass(d time.Duration) {
	for range d / time.Second {
		l.v.Now += time.Second
		l.tracker()
	}
}

// agree applies the commands that were proposed.
func (l *leading) agree() {
	for len(l.log) > 0 {
		c := l.log[0]
		l.log = l.log[1:]
		next, _, err := l.v.Registry.Apply(*c)
		l.v.Registry = next
		l.tracker().Proposed(c, err)
	}
}

func TestWhoIsAlive(t *testing.T) {
	l := numbered(t)
	l.pass(time.Second)
	if got := l.life(); !slices.Equal(got, []Liveness{Alive, LivenessUnknown, LivenessUnknown}) {
		t.Errorf("right after the election: %v", got)
	}
	l.pass(time.Second)
	l.tracker().Sign("c", "web", 2, nil)
	if got := l.life(); !slices.Equal(got, []Liveness{Alive, Alive, LivenessUnknown}) {
		t.Errorf("after a sign: %v", got)
	}
	l.pass(aliveFor - time.Second)
	if got := l.life(); !slices.Equal(got, []Liveness{Alive, Alive, Dead}) {
		t.Errorf("%s after the election: %v", aliveFor, got)
	}
	l.pass(2 * time.Second)
	if got := l.life(); !slices.Equal(got, []Liveness{Alive, Dead, Dead}) {
		t.Errorf("after the last sign: %v", got)
	}
	l.v.Now += 2 * SignEvery // this process was paused, and has missed signs
	if got := l.life(); !slices.Equal(got, []Liveness{Alive, LivenessUnknown, LivenessUnknown}) {
		t.Errorf("after a pause: %v", got)
	}
	l.pass(aliveFor)
	l.v.Sees = func(string) bool { return false }
	if got := l.life(); got[0] != Dead {
		t.Errorf("a member that is gone: %v", got)
	}
}

func (l *leading) clean(force bool, ids ...uint64) *Outcome {
	out := &Outcome{Err: errors.New("no reply")}
	l.tracker().Clean("c", "web", ids, force, func(o Outcome) { *out = o })
	return out
}

func TestCleanRefusesTheLiving(t *testing.T) {
	l := numbered(t)
	l.pass(time.Second)
	if got := l.clean(false, 3); !errors.Is(got.Err, ErrAlive) ||
		!strings.Contains(got.Err.Error(), "elected a moment ago") || got.Proposed {
		t.Errorf("a new leader: %+v", got)
	}
	l.pass(aliveFor)
	l.tracker().Sign("c", "web", 2, nil)
	if got := l.clean(false, 3, 2, 1); !errors.Is(got.Err, ErrAlive) || !strings.Contains(got.Err.Error(), "number 2") ||
		!strings.Contains(got.Err.Error(), "number 1") {
		t.Errorf("one that runs: %+v", got)
	}
	got := l.clean(false, 3, 9)
	l.agree()
	if got.Err != nil || !got.Proposed || !slices.Equal(got.Removed, []uint64{3}) {
		t.Errorf("one that is gone: %+v", got)
	}
	if got = l.clean(false, 3); got.Err != nil || got.Proposed || len(got.Removed) > 0 {
		t.Errorf("again: %+v", got)
	}
	got = l.clean(true, 2, 1)
	l.agree()
	if s := l.set(); got.Err != nil || len(s.Members) != 0 || s.Next != 4 {
		t.Errorf("by force: %+v, %+v", got, s)
	}
	if life := l.tracker().LivenessOf("c", "web", Process{ID: 2}); life != Dead {
		t.Errorf("a removed number is %v", life)
	}
}

// TestCleanMeetsARegistration: a process that registers while its number is being removed
// keeps it.
func TestCleanMeetsARegistration(t *testing.T) {
	l := numbered(t)
	l.pass(aliveFor + time.Second)
	got := l.clean(false, 3)
	register := Command{Cluster: "c", Name: "web", Register: &Registration{ID: 3, Code: Code{3}, Start: Code{9}}}
	l.tracker().Request(register, func(out Outcome) {
		if out.Err != nil {
			t.Error(out.Err)
		}
	})
	slices.Reverse(l.log) // the registration comes first in the log
	l.tracker().Sign("c", "web", 3, nil)
	l.agree()
	if s := l.set(); !errors.Is(got.Err, ErrAlive) || len(s.Members) != 3 {
		t.Errorf("%+v, %+v", got, s)
	}
}

// TestRequestsAreAnswered: by the log, or by the registry if that would change nothing.
func TestRequestsAreAnswered(t *testing.T) {
	l := numbered(t)
	var said []string
	try := func(id uint64, code byte) {
		l.tracker().Request(Command{Cluster: "c", Name: "web", Apply: &Application{ID: id, Code: Code{code}}},
			func(out Outcome) {
				said = append(said, fmt.Sprint(out.Proposed, errors.Is(out.Err, ErrIDRefused), out.Err == nil))
			})
	}
	try(1, 1) // given already
	try(1, 2) // of another
	try(4, 4)
	try(4, 5) // a moment later
	if want := []string{"false false true", "false true false"}; !slices.Equal(said, want) || len(l.log) != 2 {
		t.Fatalf("%q, and %d commands", said, len(l.log))
	}
	l.agree()
	if want := []string{"true false true", "true true false"}; !slices.Equal(said[2:], want) {
		t.Errorf("%q", said[2:])
	}
	odd := Command{Cluster: "c", Name: "web\u202e", Apply: &Application{ID: 1, Code: Code{6}}}
	var err error
	l.tracker().Request(odd, func(out Outcome) { err = out.Err })
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("a new set that prints like another: %v", err)
	}
	for range maxPending + 1 {
		l.tracker().Request(Command{Cluster: "c", Name: "web", Apply: &Application{ID: 5, Code: Code{6}}},
			func(out Outcome) { err = out.Err })
	}
	if err == nil || !strings.Contains(err.Error(), "256 steps") || l.all.Pending() != maxPending {
		t.Errorf("too many steps at the same time: %v", err)
	}
	over := errors.New("the lead is over")
	l.all.Resign(over)
	if !errors.Is(err, over) || l.all.Pending() > 0 {
		t.Errorf("after the lead: %v", err)
	}
}

// TestSignsAreBounded: those of numbers that were removed make room.
func TestSignsAreBounded(t *testing.T) {
	l := numbered(t)
	for id := range uint64(3 * MaxNumbered) {
		l.tracker().Sign("c", "web", id, nil)
	}
	if n := len(l.all.signs); n > 2*MaxNumbered {
		t.Errorf("%d signs", n)
	}
	l.tracker().Sign("c", "web", 1, map[string]uint16{"orders": 17})
	if before := l.tracker().Sign("c", "web", 1, nil); before["orders"] != 17 {
		t.Errorf("%v", before)
	}
	if before := l.tracker().Sign("c", "web", 1, nil); before["orders"] != 17 {
		t.Errorf("a sign without nodes: %v", before)
	}
}
