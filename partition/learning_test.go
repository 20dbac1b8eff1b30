package partition_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// created asks a member to create a name that it does not know.
func (p *pair) created(member int, name string) (err error) {
	p.machines[member].Create(p.view(), ref(p.t.(*testing.T), name, 1), func(_ attachment.Ref, e error) { err = e })
	p.deliver()
	return err
}

// TestNextOwnerLearnsTheRest: when an owner leaves while its holders show what it lacks after a loss, the
// next owner waits for the rest of that time, and no longer. One that takes over later does not wait.
func TestNextOwnerLearnsTheRest(t *testing.T) {
	p := newPair(t)
	p.deliver()
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	p.deliver()
	if err := p.created(1, "orders"); err != nil {
		t.Errorf("long after the first loss: %v", err)
	}
	p.change(roster.Change{Lose: []roster.Loss{{Partition: 0, Owner: incarnations[0], With: incarnations[1:]}}})
	p.deliver()
	p.mono += 5 * time.Second
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	p.deliver()
	if err := p.created(1, "users"); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("5 s after a loss: %v", err)
	}
	if p.machines[1].HasEveryName(p.view()) {
		t.Error("5 s after a loss, the table has every name")
	}
	p.mono += window/4*time.Millisecond + 3*time.Second - 5*time.Second + 1
	if !p.machines[1].HasEveryName(p.view()) {
		t.Error("when all holders had time to show what they have, names are missing")
	}
	if err := p.created(1, "users"); err != nil {
		t.Errorf("when all holders had time to show what they have: %v", err)
	}
}

// TestOwnerAfterALossThatIsOver: once cluster time has reached the floor of a loss, holders have nothing more to
// show. The next owner, whose own floor is a window ahead, does not wait for them: not in the first seconds of a new
// grid either.
func TestOwnerAfterALossThatIsOver(t *testing.T) {
	p := newPair(t)
	p.deliver()
	p.change(roster.Change{Lose: []roster.Loss{{Partition: 0, Owner: incarnations[0], With: incarnations[1:]}}})
	p.deliver()
	floor := p.roster.Partitions[0].Floor
	if err := p.created(0, "orders"); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("before the floor: %v", err)
	}
	p.raise(floor)
	p.mono += time.Second
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	p.deliver()
	if next := p.roster.Partitions[0].Floor; next <= floor {
		t.Fatalf("the next floor is %d, not above %d", next, floor)
	}
	if err := p.created(1, "users"); err != nil {
		t.Errorf("a second after the loss, at its floor: %v", err)
	}
}
