package session

import (
	"fmt"
	"testing"
	"time"
)

// take issues n IDs of a handle.
func (s *stage) take(t *testing.T, h *Handle, n int) {
	t.Helper()
	for range n {
		if _, err := h.Control.Handle().Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenewalTellsTheUse: a renewal tells how many IDs were issued since the one before,
// those of the stripes of a name together, and nothing of an idle name.
func TestRenewalTellsTheUse(t *testing.T) {
	s, h := ready(t)
	stripe := s.make(h.name, 1, true, true)
	s.attached(stripe, 4)
	s.attached(s.make("idle", 1, true, false), 5)
	s.take(t, h, 3)
	s.take(t, stripe, 2)
	for i, want := range []string{"[{orders 5 0}]", "[]", "[{orders 1 0}]"} {
		s.m.Take()
		s.mono += 5 * time.Second
		if i == 2 {
			s.take(t, h, 1)
		}
		s.m.Look(s.now())
		e := s.m.Take()
		if len(e.Renew) != 1 {
			t.Fatalf("%d renewals", len(e.Renew))
		}
		if got := fmt.Sprint(e.Renew[0].Used); got != want {
			t.Errorf("renewal %d tells %s, want %s", i, got, want)
		}
		s.m.Renewed(s.now(), e.Renew[0], Renewed{}, fmt.Errorf("lost")) // a lost report is not repeated
	}
	s.take(t, h, 2)
	if got := s.m.TakeUsed(h); got.IDs != 2 {
		t.Errorf("a detach tells %d IDs, want 2", got.IDs)
	}
	if got := s.m.TakeUsed(h); got.IDs != 0 {
		t.Errorf("a second detach tells %d IDs again", got.IDs)
	}
}

// TestUseFitsIntoACall: of more names than a call has room for, those are told first that
// were not told for the longest time, and each of them in the end.
func TestUseFitsIntoACall(t *testing.T) {
	s, _ := ready(t)
	var handles []*Handle
	for i := range 100 {
		h := s.make(fmt.Sprintf("sequencer-%03d", i), 1, true, false)
		s.attached(h, 1)
		s.take(t, h, 1)
		handles = append(handles, h)
	}
	told := map[string]int{}
	for call := range 3 {
		used := reportUse(time.Duration(call+1)*time.Second, handles)
		size := 0
		for _, u := range used {
			told[u.Name]++
			size += usedOverhead + len(u.Name)
		}
		if len(used) > usedPerCall || size > usedBytes {
			t.Errorf("a call tells %d names, %d bytes", len(used), size)
		}
		for _, h := range handles { // those that were told must not keep the others from it
			s.take(t, h, 1)
		}
	}
	if len(told) < 100 {
		t.Errorf("%d of 100 names were told by three calls", len(told))
	}
}
