package numbers_test

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// TestRegistrationsMeetOtherSteps: a step that follows a registration before its answer decides the answer. A removed
// number is not registered, and its process registers once the number is imported; a fenced process has ended.
func TestRegistrationsMeetOtherSteps(t *testing.T) {
	n := newNumbering(t)
	answer := func(want error) {
		t.Helper()
		s, p, err := n.r.Registered("c", "web", 1, numbers.Code{1})
		if !errors.Is(err, want) || err == nil && (p.Incarnation == 0 || s.Next != 2) {
			t.Errorf("incarnation %d, next number %d, %v; want %v", p.Incarnation, s.Next, err, want)
		}
	}
	answer(numbers.ErrNotRegistered)
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	if _, err := n.register(1, 7, 1); err != nil {
		t.Fatal(err)
	}
	answer(nil)
	if _, err := n.register(1, 7, 2); err != nil {
		t.Fatal(err)
	}
	answer(numbers.ErrFenced)
	if err := n.do(numbers.Command{Clean: []numbers.Cleaned{{ID: 1, Incarnation: 2}}}); err != nil {
		t.Fatal(err)
	}
	answer(numbers.ErrNotRegistered)
}
