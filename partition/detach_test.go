package partition_test

import (
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/partition"
)

// TestDetachWithoutAnAttachment: a detach that releases nothing, of a holder that showed nothing, of another life or
// of an unknown name, leaves nothing at the owner. A detach of a grant without a handle leaves nothing either. The
// holder of a handle is notified of a destroy after its detach.
func TestDetachWithoutAnAttachment(t *testing.T) {
	p := newLimitedPair(t)
	detach := func(h attachment.HolderID, ref attachment.Ref, rel attachment.Release) {
		t.Helper()
		p.m.Detach(p.view(), h, ref, rel, p.begun("detach"))
		p.deliver()
	}
	attach := func(h attachment.HolderID, id byte) attachment.Release {
		t.Helper()
		a, err := p.attach(h, id, "", partition.Quota{})
		if err != nil {
			t.Fatal(err)
		}
		return attachment.Release{ID: a.ID, Node: a.Node, LastUsed: p.roster.Time}
	}
	other := p.ref
	other.Life[0]++
	unknown := ref(t, "unknown", 7)
	detach("liar", p.ref, attachment.Release{ID: attachment.ID{99}, Node: 3})
	detach("liar", unknown, attachment.Release{ID: attachment.ID{99}, Node: 3})
	if p.m.Ticks() {
		t.Error("a detach that releases nothing leaves a holder at the owner")
	}
	handle := attach("handle", 1)
	detach("handle", other, handle)
	detach("handle", unknown, handle)
	detach("handle", p.ref, handle)
	detach("", p.ref, attach("grant", 2))
	p.m.Destroy(p.view(), "orders", attachment.Life{}, func(err error) {
		if err != nil {
			t.Error(err)
		}
	})
	p.deliver()
	if want := []attachment.HolderID{"handle"}; !slices.Equal(p.toldTo, want) {
		t.Errorf("the destroy notifies %v, want %v", p.toldTo, want)
	}
}
