package numbers_test

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// TestNewNumbersHaveVisibleNames: the leader refuses texts that print like others where they are
// new. Those that an earlier release stored stay in use.
func TestNewNumbersHaveVisibleNames(t *testing.T) {
	const odd = "web\u202e"
	n := newNumbering(t)
	apply := func(cluster, name, addr string, id uint64) numbers.Command {
		return numbers.Command{Cluster: cluster, Name: name, Apply: &numbers.Application{ID: id, Code: numbers.Code{byte(id)},
			Addr: addr}}
	}
	for _, c := range []numbers.Command{apply(odd, "web", "", 1), apply("c", odd, "", 1), apply("c", " web", "", 1),
		apply("c", "web", "host\u200b:1", 1)} {
		if err := c.CheckNew(n.r.Registry, "g"); !errors.Is(err, numbers.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	old := apply(odd, odd, "host\u200b:1", 1)
	if err := n.do(old); err != nil {
		t.Fatalf("the log of an earlier release is not applied: %v", err)
	}
	wantReadable(t, n.r)
	again := numbers.Command{Cluster: odd, Name: odd, Register: &numbers.Registration{ID: 1, Code: numbers.Code{1},
		Start: numbers.Code{2}, Addr: "host\u200b:1"}}
	moved := again
	moved.Register = &numbers.Registration{ID: 1, Code: numbers.Code{1}, Start: numbers.Code{2}, Addr: "host\u200b:2"}
	restored := numbers.Command{Cluster: "c", Name: odd, Import: &numbers.Imported{Next: 2}}
	for _, c := range []numbers.Command{old, again, apply(odd, odd, "", 2), apply("c", "größe 1", "10.0.0.1:7948", 1),
		restored} {
		if err := c.CheckNew(n.r.Registry, "g"); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := moved.CheckNew(n.r.Registry, "g"); !errors.Is(err, numbers.ErrInvalid) {
		t.Errorf("another address that is odd: %v", err)
	}
	const grid = "old\u00a0grid"
	if err := apply(grid, "web", "", 1).CheckNew(n.r.Registry, grid); err != nil {
		t.Errorf("a new set in a grid whose name is odd: %v", err)
	}
}
