package leader

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestCandidacy: a voter stands when the leader's process has refused it twice, and not
// when it only is slow or answers.
func TestCandidacy(t *testing.T) {
	reset := errors.New("connection reset")
	servers := []Server{{ID: "d", Voter: true}, {ID: "c", Voter: true}, {ID: "b", Voter: true}, {ID: "a"}}
	for what, c := range map[string]struct {
		self  ServerID
		calls []error
		turn  time.Duration
		stand bool
	}{
		"refused":                    {"c", []error{ErrAbsent, ErrAbsent}, 0, true},
		"refused, the second voter":  {"d", []error{ErrAbsent, ErrAbsent}, candidacyTurn, true},
		"streams end first":          {"c", []error{reset, reset, ErrAbsent, ErrAbsent}, 0, true},
		"answers":                    {"c", []error{nil}, 0, false},
		"answers after a refusal":    {"c", []error{ErrAbsent, nil}, 0, false},
		"is slow":                    {"c", []error{context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded}, 0, false},
		"refused, slow, and refused": {"c", []error{ErrAbsent, context.DeadlineExceeded, ErrAbsent, ErrAbsent}, 0, true},
	} {
		candidacy, votes := NewCandidacy(servers, c.self, "b")
		if !votes {
			t.Fatalf("%s: no voter", what)
		}
		now, next := time.Minute, Next{Call: true}
		for i, err := range c.calls {
			if now += next.Pause; !next.Call {
				t.Fatalf("%s: over after %d calls", what, i)
			}
			next = candidacy.Called(now, err)
		}
		if next.Call || next.Stand != c.stand || next.Stand && next.Pause != c.turn {
			t.Errorf("%s: %+v", what, next)
		}
	}
	for _, self := range []ServerID{"a", "b", "z"} {
		if _, votes := NewCandidacy(servers, self, "b"); votes {
			t.Errorf("%s has a candidacy", self)
		}
	}
}

// TestTwoRefusalsAtOnceProveNothing: a process may be opening its listener.
func TestTwoRefusalsAtOnceProveNothing(t *testing.T) {
	var r Refusals
	r.Note(time.Second, ErrAbsent)
	r.Note(time.Second+refusedApart-1, ErrAbsent)
	if r.Prove() {
		t.Error("two together prove")
	}
	r.Note(time.Second+refusedApart, ErrAbsent)
	if !r.Prove() {
		t.Error("two refusals prove nothing")
	}
	r.Note(time.Second+2*refusedApart, context.DeadlineExceeded)
	r.Note(time.Second+3*refusedApart, ErrAbsent)
	if r.Prove() {
		t.Error("those of before an outcome of another kind count")
	}
}
