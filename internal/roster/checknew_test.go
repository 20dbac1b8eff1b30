package roster_test

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestNewNumbersHaveVisibleNames: the leader refuses texts that print like others where they are
// new. Those that an earlier release stored stay in use.
func TestNewNumbersHaveVisibleNames(t *testing.T) {
	const odd = "web\u202e"
	n := newNumbering(t)
	apply := func(cluster, name, addr string, id uint64) roster.Identity {
		return roster.Identity{Cluster: cluster, Name: name, Apply: &roster.Application{ID: id, Code: roster.Code{byte(id)},
			Addr: addr}}
	}
	for _, c := range []roster.Identity{apply(odd, "web", "", 1), apply("c", odd, "", 1), apply("c", " web", "", 1),
		apply("c", "web", "host\u200b:1", 1)} {
		if err := c.CheckNew(n.r); !errors.Is(err, roster.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	old := apply(odd, odd, "host\u200b:1", 1)
	if err := n.do(old); err != nil {
		t.Fatalf("the log of an earlier release is not applied: %v", err)
	}
	wantReadable(t, n.r)
	again := roster.Identity{Cluster: odd, Name: odd, Register: &roster.Registration{ID: 1, Code: roster.Code{1},
		Start: roster.Code{2}, Addr: "host\u200b:1"}}
	moved := again
	moved.Register = &roster.Registration{ID: 1, Code: roster.Code{1}, Start: roster.Code{2}, Addr: "host\u200b:2"}
	restored := roster.Identity{Cluster: "c", Name: odd, Import: &roster.Imported{Next: 2}}
	for _, c := range []roster.Identity{old, again, apply(odd, odd, "", 2), apply("c", "größe 1", "10.0.0.1:7948", 1),
		restored} {
		if err := c.CheckNew(n.r); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := moved.CheckNew(n.r); !errors.Is(err, roster.ErrInvalid) {
		t.Errorf("another address that is odd: %v", err)
	}
	named := *n.r
	named.Settings.Name = "old\u00a0grid"
	if err := apply(named.Settings.Name, "web", "", 1).CheckNew(&named); err != nil {
		t.Errorf("a new set in a grid whose name is odd: %v", err)
	}
}
