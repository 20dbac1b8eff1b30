package session

import (
	"context"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestLateAnswerExtendsNothing: the answer to a claim is about the attachment that was
// shown. If the handle has another one by then, its grant stays as it is.
func TestLateAnswerExtendsNothing(t *testing.T) {
	s, h := ready(t)
	shown, _ := h.Control.Held()
	if err := h.Control.Handle().DetachLogicalNode(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.attached(h, 4)
	held, _ := h.Control.Held()
	late := ClaimRenewed{Grant: attachment.Grant{From: held.Grant.From - 10_000, Until: held.Grant.Until + 10_000}}
	if err := s.m.claimRenewed(s.now(), h, shown, s.stamp(5), late); err != nil {
		t.Fatal(err)
	}
	for _, x := range s.m.Take().Extend {
		x.Handle.Control.Renewed(x.ID, x.Grant)
	}
	if now, _ := h.Control.Held(); now != held || shown.ID == held.ID {
		t.Errorf("the attachment %+v became %+v by an answer about %+v", held, now, shown)
	}
}

// TestSetsRestOnAnswers: grants that are extended together begin where they began, and a
// handle without a whole answer about its attachment is shown by itself.
func TestSetsRestOnAnswers(t *testing.T) {
	s, h := ready(t)
	shown, print, known := h.shown()
	sets := setsOf([]*Handle{h}, 4)
	if !known || len(sets) != 1 || !sets[0].whole || sets[0].Count != 1 || sets[0].Print != print ||
		print != attachment.FingerprintOf(h.Control.Ref().Life, shown) {
		t.Fatalf("sets of one handle: %+v", sets)
	}
	want := attachment.Grant{From: shown.Grant.From, Until: shown.Grant.Until + 5000}
	s.m.extendSet(s.now(), sets[0], s.stamp(5), want.Until)
	for _, x := range s.m.Take().Extend {
		x.Handle.Control.Renewed(x.ID, x.Grant)
	}
	if held, _ := h.Control.Held(); held.Grant != want {
		t.Errorf("extended to %+v, want %+v", held.Grant, want)
	}
	h.told(attachment.Attachment{})
	if sets = setsOf([]*Handle{h}, 4); sets[0].whole {
		t.Error("a set is whole with an attachment that no answer was about")
	}
}

// TestOvertakenAnswer: an answer that another one overtook does not make the life look
// older than the grid has told.
func TestOvertakenAnswer(t *testing.T) {
	s, h := ready(t)
	h.saw(s.stamp(7), Now{})
	h.saw(s.stamp(6), Now{})
	if got := h.claim(attachment.Attachment{}).Version; got != 7 {
		t.Errorf("the claim is of version %d", got)
	}
	h.saw(Stamp{Grid: roster.GridID{2}, Version: 1}, Now{})
	if got := h.claim(attachment.Attachment{}).Version; got != 1 {
		t.Errorf("the claim in another grid is of version %d", got)
	}
}

// TestClaimShowsTheEnd: a claim shows how far the attachment was granted. A grid that
// begins again raises its floors by that.
func TestClaimShowsTheEnd(t *testing.T) {
	_, h := ready(t)
	held, _ := h.Control.Held()
	if c := h.claim(held); c.Until != held.Grant.Until || c.ID != held.ID || c.Node != held.Node || c.Version != 5 ||
		c.Grid.IsZero() {
		t.Errorf("the claim %+v does not show %+v", c, held)
	}
}

// TestManyClaims: handles that an owner does not know are shown a call's worth at a time,
// one call after the other, in the order of their names.
func TestManyClaims(t *testing.T) {
	s, _ := ready(t)
	for i := range 2*claimsPerCall - 1 {
		s.attached(s.make("s"+string(rune('a'+i/26/26))+string(rune('a'+i/26%26))+string(rune('a'+i%26)), 1, true, false), 3)
	}
	s.m.Take()
	s.mono = 10 * time.Second
	s.m.Look(s.now())
	e := s.m.Take()
	if len(e.Renew) != 1 || len(e.Renew[0].Sets) == 0 {
		t.Fatalf("the first calls are %+v", e.Renew)
	}
	unknown := Renewed{Stamp: s.stamp(5), Sets: make([]clustertime.Tick, len(e.Renew[0].Sets))}
	s.m.Renewed(s.now(), e.Renew[0], unknown, nil)
	total := 0
	for range 2 {
		e = s.m.Take()
		if len(e.Renew) != 1 || len(e.Renew[0].Claims) != claimsPerCall {
			t.Fatalf("%d calls", len(e.Renew))
		}
		r := e.Renew[0]
		total += len(r.Claims)
		s.m.Look(s.now())
		if e := s.m.Take(); len(e.Renew) > 0 {
			t.Fatal("two calls to one owner are in progress")
		}
		s.m.Renewed(s.now(), r, Renewed{Stamp: s.stamp(5), Claims: make([]ClaimRenewed, len(r.Claims))}, nil)
	}
	if e = s.m.Take(); total != 2*claimsPerCall || len(e.Renew) > 0 {
		t.Errorf("%d handles were shown, and %d calls follow", total, len(e.Renew))
	}
}
