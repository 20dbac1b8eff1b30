package api

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestIDsHandlesKeepsTheNewest(t *testing.T) {
	var h handleSet
	h.enter("busy")
	for i := range HandlesMax - 1 {
		name := fmt.Sprint(i)
		h.enter(name)
		if surplus := h.leave(name, true, time.Duration(i+1)); len(surplus) > 0 {
			t.Fatalf("%q ends although there are %d names", surplus, i+2)
		}
	}
	h.enter("0") // asked for again: the name that is longest unused is 1 now
	h.leave("0", true, time.Hour)
	h.enter("new")
	if surplus := h.leave("new", true, 2*time.Hour); !slices.Equal(surplus, []string{"1"}) {
		t.Errorf("%q ends, not the name unused for longest", surplus)
	}
	if got := h.idle(time.Hour - 1); len(got) != HandlesMax-3 || slices.Contains(got, "busy") {
		t.Errorf("%d names are idle, among them one in use: %v", len(got), slices.Contains(got, "busy"))
	}
	h.leave("busy", true, 3*time.Hour)
	if got := h.idle(3 * time.Hour); len(got) != 3 {
		t.Errorf("%q are idle in the end, not all three names", got)
	}
}

func TestIDsHandlesForgetsUnknownNames(t *testing.T) {
	var h handleSet
	h.enter("known")
	h.enter("known")
	h.leave("known", true, 1)
	h.leave("known", false, 2) // it has a handle all the same
	h.enter("unknown")
	h.leave("unknown", false, 3)
	if got := h.idle(time.Hour); !slices.Equal(got, []string{"known"}) {
		t.Errorf("names %q are kept, not the known one alone", got)
	}
}

func TestIDsHandlesAllInUse(t *testing.T) {
	var h handleSet
	for i := range HandlesMax + 1 {
		h.enter(fmt.Sprint(i))
	}
	h.enter("0")
	if surplus := h.leave("0", true, 1); len(surplus) > 0 {
		t.Errorf("%q ends in the middle of a request", surplus)
	}
	if surplus := h.leave("0", true, 1); !slices.Equal(surplus, []string{"0"}) {
		t.Errorf("%q ends, not the one name without a request", surplus)
	}
}
