package partition_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// limitedPair is a pair with a sequencer, and short forms of its requests.
type limitedPair struct {
	*pair
	m   *partition.Machine
	ref attachment.Ref
}

func newLimitedPair(t *testing.T) *limitedPair {
	p := &limitedPair{pair: newPair(t)}
	p.m = p.machines[0]
	if err := p.create(nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// create creates the sequencer, or opens it.
func (p *limitedPair) create(full error) (err error) {
	p.m.CreateUnless(p.view(), ref(p.t, "orders", 1), full, func(have attachment.Ref, reply error) {
		if err = reply; err == nil {
			p.ref = have
		}
	})
	p.deliver()
	return err
}

func (p *limitedPair) claim(id byte, peer partition.Peer, l partition.Quota) partition.Claim {
	c := claim(p.ref, id)
	c.Peer, c.Quota = peer, l
	return c
}

func (p *limitedPair) attach(h attachment.HolderID, id byte, peer partition.Peer,
	l partition.Quota) (a attachment.Attachment, err error) {
	p.m.Attach(p.view(), h, p.claim(id, peer, l), func(got attachment.Attachment, reply error) { a, err = got, reply })
	p.deliver()
	return a, err
}

func (p *limitedPair) renew(h attachment.HolderID, c partition.Claim) (err error) {
	p.m.Renew(p.view(), h, []partition.Claim{c},
		func(out []partition.Renewed, reply error) { err = errors.Join(reply, out[0].Err) })
	p.deliver()
	return err
}

// TestHolderLimit: a holder gets as many logical nodes as its limit and no more, and one
// more after it has detached one. A repeated attach is none more.
func TestHolderLimit(t *testing.T) {
	p := newLimitedPair(t)
	two := partition.Quota{Holder: 2, HolderBy: "the quota of *"}
	first, err := p.attach("h", 1, "", two)
	if _, second := p.attach("h", 2, "", two); err != nil || second != nil {
		t.Fatal(err, second)
	}
	_, err = p.attach("h", 3, "", two)
	if !errors.Is(err, sequencer.ErrQuota) ||
		!strings.Contains(err.Error(),
			`sequencer "orders": this process has 2 of its logical nodes, and the quota of * allows 2; detach some, or have an operator raise it: snowgrid quota set PATTERN --holder-nodes COUNT`) {
		t.Errorf("one more: %v", err)
	}
	if _, err := p.attach("h", 2, "", two); err != nil {
		t.Errorf("the second one again: %v", err)
	}
	if _, err := p.attach("other", 4, "", two); err != nil {
		t.Errorf("another holder: %v", err)
	}
	p.m.Detach(p.view(), "h", p.ref, attachment.Release{ID: first.ID, Node: first.Node}, func(error) {})
	p.deliver()
	if _, err := p.attach("h", 5, "", two); err != nil {
		t.Errorf("after a detach: %v", err)
	}
}

// TestPeerLimit: all holders of a credential have one limit together.
func TestPeerLimit(t *testing.T) {
	p := newLimitedPair(t)
	two := partition.Quota{Peer: 2, PeerBy: "the default"}
	for i, h := range []attachment.HolderID{"h1", "h2"} {
		if _, err := p.attach(h, byte(i+1), "cert:a", two); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.attach("h3", 3, "cert:a", two); !errors.Is(err, sequencer.ErrQuota) ||
		!strings.Contains(err.Error(), "the processes of cert:a have 2 of its logical nodes, and the default allows 2") {
		t.Errorf("a third process: %v", err)
	}
	for id, peer := range map[byte]partition.Peer{4: "cert:b", 5: ""} {
		if _, err := p.attach("h4", id, peer, two); err != nil {
			t.Errorf("peer %q: %v", peer, err)
		}
	}
	// A renewal by another certificate, after a rotation, moves the count there.
	prints := attachment.Fingerprint{}
	for _, tenant := range p.m.Table().TenantsOf("orders") {
		if tenant.ID == (attachment.ID{1}) {
			a := attachment.Attachment{ID: tenant.ID, Node: tenant.Node}
			p.m.Renew(p.view(), "h1", []partition.Claim{{Ref: p.ref, ID: tenant.ID,
				Preference: attachment.Preference{Node: tenant.Node}, Grid: roster.GridID{1}, Peer: "cert:a", Quota: two}},
				func(out []partition.Renewed, _ error) { a.Grant = out[0].Grant })
			p.deliver()
			prints = attachment.FingerprintOf(p.ref.Life, a)
		}
	}
	var until clustertime.Tick
	p.m.RenewSet(p.view(), "h1", partition.ClaimSet{Count: 1, Print: prints, Peer: "cert:c"},
		func(tick clustertime.Tick, _ error) { until = tick })
	p.deliver()
	if _, err := p.attach("h5", 6, "cert:a", two); until == 0 || err != nil {
		t.Errorf("after the rotation of h1's certificate: extended to %d, %v", until, err)
	}
}

// TestLimitsAfterTakeover: a renewal registers the attachments that a new owner inherited, and no attachment
// that the limit would have refused. Its answer is that of a lost node.
func TestLimitsAfterTakeover(t *testing.T) {
	p := newLimitedPair(t)
	one := partition.Quota{Holder: 1, HolderBy: "the quota of *"}
	a, err := p.attach("h", 1, "", one)
	if err != nil {
		t.Fatal(err)
	}
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	p.m = p.machines[1]
	held := p.claim(1, "", one)
	held.Preference = attachment.Preference{Node: a.Node}
	if err := p.renew("h", held); err != nil {
		t.Errorf("the inherited attachment: %v", err)
	}
	forged := p.claim(9, "", one)
	forged.Preference = attachment.Preference{Node: 100}
	if err := p.renew("h", forged); !errors.Is(err, sequencer.ErrDetached) || errors.Is(err, sequencer.ErrQuota) ||
		!strings.Contains(err.Error(), "allows 1") {
		t.Errorf("an attachment beyond the limit by a renewal: %v", err)
	}
	if n := p.m.Table().Attached("orders"); n != 1 {
		t.Errorf("%d logical nodes are attached", n)
	}
}

// TestReservedNodeCountsAgainstNoLimit: a holder that has all that it may shows a grant of an earlier life
// of the grid that reaches further than floors are raised on its word. The logical node is kept for it
// all the same, so no other holder gets a grant of it below that end.
func TestReservedNodeCountsAgainstNoLimit(t *testing.T) {
	p := newLimitedPair(t)
	one := partition.Quota{Holder: 1, HolderBy: "the quota of *"}
	if _, err := p.attach("h", 1, "", one); err != nil {
		t.Fatal(err)
	}
	shown := p.claim(9, "", one)
	shown.Preference = attachment.Preference{Node: 100}
	shown.Grid, shown.Until = roster.GridID{9}, p.roster.Time.Add(clustertime.SpanOf(time.Hour))
	if err := p.renew("h", shown); err != nil {
		t.Fatalf("the shown attachment: %v", err)
	}
	for n := range p.ref.Definition.Config().Nodes {
		c := p.claim(0, "", partition.Quota{})
		c.ID = attachment.ID{2, byte(n >> 8), byte(n)}
		p.m.Attach(p.view(), "other", c, func(a attachment.Attachment, err error) {
			if err == nil && a.Node == 100 && a.Grant.From < shown.Until {
				t.Errorf("another holder has logical node 100 from %d, and the grant that was shown ends at %d", a.Grant.From,
					shown.Until)
			}
		})
		p.deliver()
	}
}

// TestCreateUnless: a full owner makes no new life and tells of those there are.
func TestCreateUnless(t *testing.T) {
	p := newLimitedPair(t)
	full := errors.New("full")
	if err := p.create(full); err != nil {
		t.Errorf("a sequencer that exists: %v", err)
	}
	var err error
	p.m.CreateUnless(p.view(), ref(t, "others", 2), full, func(_ attachment.Ref, reply error) { err = reply })
	p.deliver()
	if _, open := p.m.Table().Open("others"); !errors.Is(err, full) || open == nil {
		t.Errorf("a new one: %v", err)
	}
}

// destroyUnused destroys the sequencer if it is unused.
func (p *limitedPair) destroyUnused(unused time.Duration) (err error) {
	p.m.DestroyUnused(p.view(), "orders", unused, func(reply error) { err = reply })
	p.deliver()
	return err
}

// later lets time pass for the owner's clock and the grid's.
func (p *limitedPair) later(d time.Duration) {
	p.mono += d
	p.raise(p.roster.Time.Add(clustertime.SpanOf(d)))
}

// TestDestroyUnused: a sequencer that nothing uses for long enough is destroyed, by the
// state when the turn of the request comes.
func TestDestroyUnused(t *testing.T) {
	p := newLimitedPair(t)
	a, err := p.attach("h", 1, "", partition.Quota{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.destroyUnused(time.Minute); !errors.Is(err, failure.ErrInUse) ||
		!strings.Contains(err.Error(), "logical nodes are attached") {
		t.Errorf("while it is attached: %v", err)
	}
	p.later(5 * time.Second)
	p.m.Detach(p.view(), "h", p.ref, attachment.Release{ID: a.ID, Node: a.Node, LastUsed: p.roster.Time}, func(error) {})
	p.deliver()
	p.later(time.Minute - time.Second)
	if err := p.destroyUnused(time.Minute); !errors.Is(err, failure.ErrInUse) ||
		!strings.Contains(err.Error(), "it is unused for at least 59s") && !strings.Contains(err.Error(), "58.999s") {
		t.Errorf("59 s after the detach: %v", err)
	}
	p.later(2 * time.Second)
	p.m.Open(p.view(), "orders", func(attachment.Ref, error) {})
	p.deliver()
	if err := p.destroyUnused(time.Minute); !errors.Is(err, failure.ErrInUse) {
		t.Errorf("just after it was opened: %v", err)
	}
	p.later(time.Minute + time.Second)
	if err := p.destroyUnused(time.Minute); err != nil {
		t.Errorf("a minute after that: %v", err)
	}
	if err := p.destroyUnused(time.Minute); !errors.Is(err, sequencer.ErrNotFound) {
		t.Errorf("once more: %v", err)
	}
}

// TestUnusedAfterTakeover: a new owner knows when grants ended. Of a name that was never
// attached it knows nothing, and counts from when it became the owner.
func TestUnusedAfterTakeover(t *testing.T) {
	p := newLimitedPair(t)
	var err error
	p.m.Create(p.view(), ref(t, "never", 2), func(_ attachment.Ref, reply error) { err = reply })
	p.deliver()
	a, attached := p.attach("h", 1, "", partition.Quota{})
	if err != nil || attached != nil {
		t.Fatal(err, attached)
	}
	p.m.Detach(p.view(), "h", p.ref, attachment.Release{ID: a.ID, Node: a.Node, LastUsed: p.roster.Time}, func(error) {})
	p.deliver()
	p.later(time.Hour)
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	m := p.machines[1]
	p.later(time.Minute)
	if unused, free := m.Unused(p.view(), "orders"); !free || unused < time.Hour+time.Minute-time.Second ||
		unused > time.Hour+time.Minute {
		t.Errorf("detached an hour and a minute ago: unused for %v, %v", unused, free)
	}
	if unused, free := m.Unused(p.view(), "never"); !free || unused != time.Minute {
		t.Errorf("never attached: unused for %v, %v", unused, free)
	}
	if _, free := m.Unused(p.view(), "unknown"); free {
		t.Error("an unknown name is unused")
	}
}

// TestUnusedAfterALateRelease: a process had a logical node for an hour and made no ID. For a new owner, too, the
// sequencer is unused since the release.
func TestUnusedAfterALateRelease(t *testing.T) {
	p := newLimitedPair(t)
	a, err := p.attach("h", 1, "", partition.Quota{})
	if err != nil {
		t.Fatal(err)
	}
	p.later(time.Hour)
	held := p.claim(1, "", partition.Quota{})
	held.Preference = attachment.Preference{Node: a.Node}
	if err := p.renew("h", held); err != nil {
		t.Fatal(err)
	}
	p.m.Detach(p.view(), "h", p.ref, attachment.Release{ID: a.ID, Node: a.Node}, func(error) {})
	p.deliver()
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	p.m = p.machines[1]
	p.later(time.Minute)
	if unused, free := p.m.Unused(p.view(), "orders"); !free || unused > time.Minute ||
		unused < time.Minute-time.Second {
		t.Errorf("given back a minute ago: unused for %v, %v", unused, free)
	}
	if err := p.destroyUnused(30 * time.Minute); !errors.Is(err, failure.ErrInUse) {
		t.Errorf("destroyed as unused for half an hour: %v", err)
	}
}
