package handles

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestNamesKeepsTheNewest(t *testing.T) {
	var n Names
	n.Enter("busy")
	for i := range NamesMax - 1 {
		name := fmt.Sprint(i)
		n.Enter(name)
		if surplus := n.Leave(name, true, time.Duration(i+1)); len(surplus) > 0 {
			t.Fatalf("%q ends although there are %d names", surplus, i+2)
		}
	}
	n.Enter("0") // asked for again: the name that is longest unused is 1 now
	n.Leave("0", true, time.Hour)
	n.Enter("new")
	if surplus := n.Leave("new", true, 2*time.Hour); !slices.Equal(surplus, []string{"1"}) {
		t.Errorf("%q ends, not the name unused for longest", surplus)
	}
	if got := n.Idle(time.Hour - 1); len(got) != NamesMax-3 || slices.Contains(got, "busy") {
		t.Errorf("%d names are idle, among them one in use: %v", len(got), slices.Contains(got, "busy"))
	}
	n.Leave("busy", true, 3*time.Hour)
	if got := n.Idle(3 * time.Hour); len(got) != 3 {
		t.Errorf("%q are idle in the end, not all three names", got)
	}
}

func TestNamesForgetsUnknownNames(t *testing.T) {
	var n Names
	n.Enter("known")
	n.Enter("known")
	n.Leave("known", true, 1)
	n.Leave("known", false, 2) // it has a handle all the same
	n.Enter("unknown")
	n.Leave("unknown", false, 3)
	if got := n.Idle(time.Hour); !slices.Equal(got, []string{"known"}) {
		t.Errorf("names %q are kept, not the known one alone", got)
	}
}

func TestNamesAllInUse(t *testing.T) {
	var n Names
	for i := range NamesMax + 1 {
		n.Enter(fmt.Sprint(i))
	}
	n.Enter("0")
	if surplus := n.Leave("0", true, 1); len(surplus) > 0 {
		t.Errorf("%q ends in the middle of a request", surplus)
	}
	if surplus := n.Leave("0", true, 1); !slices.Equal(surplus, []string{"0"}) {
		t.Errorf("%q ends, not the one name without a request", surplus)
	}
}
