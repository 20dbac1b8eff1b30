package partition_test

import (
	"errors"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// attachedPair is a pair whose first member gave node 5 of a sequencer to a process, and
// extended its grant together with all others of the process.
func attachedPair(t *testing.T) (p *pair, r attachment.Ref, old attachment.Attachment) {
	p = newPair(t)
	r = ref(t, "orders", 1)
	p.machines[0].Create(p.view(), r, func(got attachment.Ref, err error) {
		if r = got; err != nil {
			t.Error(err)
		}
	})
	p.deliver()
	c := claim(r, 1)
	c.Preference = attachment.Preference{Node: 5}
	old = p.attach(t, "killed", c)
	p.raise(p.roster.Time + 1_000)
	set := partition.ClaimSet{Count: 1, Print: attachment.FingerprintOf(r.Life, old)}
	p.machines[0].RenewSet(p.view(), "killed", set, func(end clustertime.Tick, err error) {
		if old.Grant.Until = end; err != nil || end != p.roster.Ceiling {
			t.Errorf("renewed until %d, %v", end, err)
		}
	})
	return p, r, old
}

func (p *pair) attach(t *testing.T, h attachment.HolderID, c partition.Claim) (a attachment.Attachment) {
	t.Helper()
	p.machines[0].Attach(p.view(), h, c, func(got attachment.Attachment, err error) {
		if a = got; err != nil {
			t.Errorf("%s: %v", h, err)
		}
	})
	p.deliver()
	return a
}

// TestSuccessorGetsTheNodeBack: a restarted process gets the logical node that its earlier
// process did not give back, above everything that was granted to that one; and the earlier
// one, if it is alive after all, gets nothing further on that node.
func TestSuccessorGetsTheNodeBack(t *testing.T) {
	p, r, old := attachedPair(t)
	c := claim(r, 2)
	c.Preference, c.Previous = attachment.Preference{Node: 5}, old.ID
	for range 2 { // the second is the same request again
		a := p.attach(t, "restarted", c)
		if a.Node != 5 || a.Grant.From < old.Grant.Until {
			t.Errorf("the restarted process got node %d from %d, the earlier one had 5 until %d", a.Node, a.Grant.From,
				old.Grant.Until)
		}
	}
	late := claim(r, 1)
	late.Preference = attachment.Preference{Node: 5}
	p.machines[0].Renew(p.view(), "killed", []partition.Claim{late}, func(out []partition.Renewed, err error) {
		if err != nil || !errors.Is(out[0].Err, sequencer.ErrDetached) {
			t.Errorf("the earlier process renewed: %v, %v", out, err)
		}
	})
	p.deliver()
	set := partition.ClaimSet{Count: 1, Print: attachment.FingerprintOf(r.Life, old)}
	p.machines[0].RenewSet(p.view(), "killed", set, func(end clustertime.Tick, err error) {
		if err != nil || end != 0 {
			t.Errorf("all of the earlier process was renewed until %d, %v", end, err)
		}
	})
}

// TestSuccessorTakesNothingElse: a node of another attachment stays with it.
func TestSuccessorTakesNothingElse(t *testing.T) {
	p, r, old := attachedPair(t)
	id := byte(10)
	for name, change := range map[string]func(*partition.Claim){
		"another attachment":  func(c *partition.Claim) { c.Previous = attachment.ID{9} },
		"another node":        func(c *partition.Claim) { c.Node = 6 },
		"no preferred node":   func(c *partition.Claim) { c.Any = true },
		"no earlier process":  func(c *partition.Claim) { c.Previous = attachment.ID{} },
		"the node is another": func(c *partition.Claim) { c.Node, c.Previous = 7, old.ID },
	} {
		id++
		c := claim(r, id)
		c.Preference, c.Previous = attachment.Preference{Node: 5}, old.ID
		change(&c)
		if a := p.attach(t, "stranger", c); a.Node == 5 {
			t.Errorf("%s: the node went to another process", name)
		}
	}
	set := partition.ClaimSet{Count: 1, Print: attachment.FingerprintOf(r.Life, old)}
	p.machines[0].RenewSet(p.view(), "killed", set, func(end clustertime.Tick, err error) {
		if err != nil || end == 0 {
			t.Errorf("its holder is no longer renewed: %d, %v", end, err)
		}
	})
}

// TestSuccessorWaitsWhileAnOwnerLearns: after a loss, a node that a successor asks for may be
// one that its new holder is about to show.
func TestSuccessorWaitsWhileAnOwnerLearns(t *testing.T) {
	p, r, old := attachedPair(t)
	p.change(roster.Change{Lose: []roster.Loss{{Partition: 0, Owner: incarnations[0]}}})
	p.deliver()
	c := claim(r, 2)
	c.Preference, c.Previous = attachment.Preference{Node: 5}, old.ID
	p.machines[0].Attach(p.view(), "restarted", c, func(_ attachment.Attachment, err error) {
		if !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("the successor was answered: %v", err)
		}
	})
}
