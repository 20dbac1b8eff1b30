package record

import (
	"reflect"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// TestExtensionThatLandsBeforeTheReturnIsReturned: a stopped holding does not know whether
// its last extension lands; when it does so before the return, the return follows it.
func TestExtensionThatLandsBeforeTheReturnIsReturned(t *testing.T) {
	b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{})}
	id := attachment.ID{1}
	h, err := NewHolding(id, Candidate{Record: Born(b.Life, "n0")}, "r0", "task", "n1", b)
	if err != nil {
		t.Fatal(err)
	}
	h.Sent()
	h.Swapped("n1", Landed, "r1", "unused")
	b.Now += 5
	if err := h.Extend(nil, "n2", b); err != nil {
		t.Fatal(err)
	}
	_, extended, _ := h.Want()
	h.Sent()
	h.Stop(attachment.Release{ID: id, LastUsed: 1003}, "n3")
	h.Read(Seen{Record: h.Record(), Revision: "r1"}, "n4") // not landed yet
	h.Sent()                                               // the return
	h.Swapped("n4", Refused, "", "unused")
	h.Read(Seen{Record: extended, Revision: "r2"}, "n5")
	request, want, revision := h.Want()
	if request != Swap || revision != "r2" || want.State != Free || want.Bound != 1004 {
		t.Fatalf("wants %v of %+v at %q", request, want, revision)
	}
	h.Sent()
	h.Swapped("n5", Landed, "r3", "unused")
	if h.Phase() != Done {
		t.Errorf("it is %v", h.Phase())
	}
	if g, _ := h.Grant(); g.Until != 1015 {
		t.Errorf("stopped with a grant until 1015, and it is %v", g)
	}
}

// TestForkedAttachmentStops: a process that was cloned with its attachment finds a body of
// the same attachment that it has not written, and goes no further.
func TestForkedAttachmentStops(t *testing.T) {
	b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{})}
	one, err := NewHolding(attachment.ID{1}, Candidate{Record: Born(b.Life, "n0")}, "r0", "task", "n1", b)
	if err != nil {
		t.Fatal(err)
	}
	one.Sent()
	one.Swapped("n1", Landed, "r1", "unused")
	two := *one
	b.Now += 5
	_ = one.Extend(nil, "n2", b)
	_ = two.Extend(nil, "m2", b)
	_, extended, _ := one.Want()
	one.Sent()
	one.Swapped("n2", Landed, "r2", "unused")
	two.Sent()
	two.Swapped("m2", Refused, "", "unused")
	two.Read(Seen{Record: extended, Revision: "r2"}, "unused")
	if g, _ := two.Grant(); two.Phase() != Lost || g.Until != 1015 {
		t.Errorf("the clone is %v with %v", two.Phase(), g)
	}
}

// TestAnswersOutOfPlaceAreIgnored: answers about other bodies, and records that were not
// asked for, change nothing.
func TestAnswersOutOfPlaceAreIgnored(t *testing.T) {
	b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{})}
	h, err := NewHolding(attachment.ID{1}, Candidate{Record: Born(b.Life, "n0")}, "r0", "task", "n1", b)
	if err != nil {
		t.Fatal(err)
	}
	before := *h
	h.Swapped("other", Landed, "r9", "unused")
	h.Read(Seen{Record: Born(b.Life, "n9"), Revision: "r9"}, "unused")
	h.Look()
	_ = h.Extend(nil, "n2", b)
	if !reflect.DeepEqual(*h, before) {
		t.Errorf("%+v became %+v", before, *h)
	}
}

// TestRefusalByAnotherServerLosesTheRecord is Q3 and Q4: a body that is refused although
// its revision is the newest was computed for another server.
func TestRefusalByAnotherServerLosesTheRecord(t *testing.T) {
	b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{}), Generation: "one"}
	for generation, want := range map[string]HoldingPhase{"one": Lost, "": Taking} {
		b.Generation = generation
		h, err := NewHolding(attachment.ID{1}, Candidate{Record: Born(b.Life, "n0")}, "r0", "task", "n1", b)
		if err != nil {
			t.Fatal(err)
		}
		h.Sent() // a copy whose fate is not known, so that the refusal says nothing about it
		h.Swapped("n1", Unknown, "", "unused")
		h.Read(Seen{Record: Born(b.Life, "n0"), Revision: "r0"}, "unused")
		h.Sent()
		h.Swapped("n1", Refused, "", "unused")
		h.Read(Seen{Record: Born(b.Life, "n0"), Revision: "r0"}, "unused")
		if h.Phase() != want {
			t.Errorf("generation %q: %v", generation, h.Phase())
		}
	}
}

// TestRefusedTakeOfAnUnchangedRecordIsLost: a store may refuse a take although the record is
// as it was read, because of a lease for instance. It is not asked again and again. After a
// copy whose fate is not known it is, since that may land.
func TestRefusedTakeOfAnUnchangedRecordIsLost(t *testing.T) {
	b := Bounds{Now: 1000, Window: 15, Life: NewLife(1, [8]byte{})}
	for unknown, want := range []HoldingPhase{Lost, Taking} {
		free := Born(b.Life, "n0")
		h, err := NewHolding(attachment.ID{1}, Candidate{Record: free}, "r0", "task", "n1", b)
		if err != nil {
			t.Fatal(err)
		}
		for range unknown {
			h.Sent()
			h.Swapped("n1", Unknown, "", "unused")
			h.Read(Seen{Record: free, Revision: "r0"}, "unused")
		}
		h.Sent()
		h.Swapped("n1", Refused, "", "unused")
		h.Read(Seen{Record: free, Revision: "r0"}, "unused")
		if h.Phase() != want {
			t.Errorf("after %d copies without an answer it is %v, want %v", unknown, h.Phase(), want)
		}
	}
}
