package grid_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	pki "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// namedBlow is a call about a name that no attacker may use, at the name's owner.
func (b *besieged) namedBlow(action security.Action, name, path string, in any) blow {
	out := b.memberBlow(action, b.g.OwnerOf(name), path, in)
	out.named = true
	return out
}

// renewBlow is a renewal of a claim. A renewal is of many claims, and each has an answer of
// its own.
func (b *besieged) renewBlow(c wire.Claim) blow {
	return blow{what: "of a claim", action: security.Renew, named: true, strike: func(a *evil.Attacker) error {
		var res wire.RenewResponse
		in := wire.RenewRequest{Holder: "x", Claims: []wire.Claim{c}}
		err := a.Ask(b.t.Context(), b.target(b.g.OwnerOf(c.Sequencer.Name)), wire.PathRenew, in, &res)
		if err == nil && len(res.Results) == 1 && res.Results[0].Error != nil {
			err = res.Results[0].Error.Unwire()
		}
		return err
	}}
}

// earlierLife is a claim of another life of a name in another grid, of a grant that ends
// in a day.
func (b *besieged) earlierLife(name string, node *sequencer.NodeID) wire.AttachRequest {
	until := clustertime.TickOf(b.g.Member("m1").Status().ClusterTime.Add(25*time.Hour - 5*time.Second))
	return wire.AttachRequest{Holder: "x", Claim: wire.Claim{
		Sequencer: wire.Sequencer{Name: name, Epoch: epoch.Default.UnixMilli(), Nodes: 8192, Life: attachment.Life{1},
			Born: attachment.Revision{Term: math.MaxUint64}},
		ID: attachment.ID{3}, Node: node, Grid: roster.GridID{1}, Version: 1, Until: until,
	}}
}

// honest is the sequencer of the victim's name as members show it to holders.
func (b *besieged) honest() wire.Sequencer {
	for _, q := range b.g.Member(b.g.OwnerOf(victimName)).Status().Sequencers {
		if q.Name == victimName {
			life := attachment.Life{}
			if err := life.UnmarshalText([]byte(q.Life)); err != nil {
				b.t.Fatal(err)
			}
			return wire.Sequencer{Name: victimName, Epoch: epoch.Default.UnixMilli(), Nodes: 8192, Life: life}
		}
	}
	b.t.Fatal("the owner does not know the victim's name")
	return wire.Sequencer{}
}

// TestAttackAnothersName: no call about a name counts that the caller may not use: neither
// claims of earlier lives, nor attaches, renewals, goodbyes or destroys.
func TestAttackAnothersName(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		q := b.honest()
		node, _ := b.ids.ids.LogicalNode()
		claim := wire.Claim{Sequencer: q, ID: attachment.ID{7}, Grid: grid.RosterOf(b.g.Member("m1")).Grid}
		b.attack("calls about another's name",
			b.namedBlow(security.Attach, victimName, wire.PathAttach, b.earlierLife(victimName, nil)),
			b.namedBlow(security.Attach, victimName, wire.PathAttach, b.earlierLife(victimName, &node)),
			b.renewBlow(b.earlierLife(victimName, &node).Claim),
			b.namedBlow(security.Attach, victimName, wire.PathAttach, wire.AttachRequest{Holder: "x", Claim: claim}),
			b.renewBlow(claim),
			b.namedBlow(security.Detach, victimName, wire.PathDetach, wire.DetachRequest{Holder: "x", Sequencer: q, Node: node}),
			b.namedBlow(security.Destroy, victimName, wire.PathDestroy, wire.DestroyRequest{Name: victimName, Life: q.Life}),
			b.namedBlow(security.Destroy, victimName, wire.PathDestroy, wire.DestroyRequest{Name: victimName}),
			b.namedBlow(security.Create, victimName, wire.PathCreate, wire.CreateRequest{Name: victimName}),
			b.namedBlow(security.Open, victimName, wire.PathOpen, wire.OpenRequest{Name: victimName}),
			b.namedBlow(security.IDs, victimName, wire.PathIDs, wire.IDsRequest{Name: victimName, N: new(1000)}),
			b.namedBlow(security.IDs, victimName, wire.PathIDs, wire.IDsRequest{Name: victimName, Create: &wire.IDsCreate{}}),
			b.namedBlow(security.Attach, victimName, wire.PathGrants, wire.GrantRequest{Name: victimName}),
		)
	})
}

// TestAttackByAnEarlierLife: a holder that may use a name cannot move the grid's
// time by a claim of an earlier life of it, and stops no other name.
func TestAttackByAnEarlierLife(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		time.Sleep(40 * time.Second) // beyond the first grants of a durable grid
		before := b.g.Member("m1").Status()
		a := b.identified(security.Holder)
		for _, node := range []*sequencer.NodeID{nil, new(sequencer.NodeID(0)), new(sequencer.NodeID(5))} {
			for _, name := range b.g.Running() {
				_ = a.Call(t.Context(), b.target(name), wire.PathAttach, b.earlierLife(ownName, node))
			}
		}
		b.ids.during(20*time.Second, "after the claims")
		after := b.g.Member("m1").Status()
		if rose, passed := after.Ceiling.Sub(before.Ceiling),
			after.ClusterTime.Sub(before.ClusterTime); rose > passed+3*time.Second {
			t.Errorf("the ceiling rose by %v, cluster time by %v", rose, passed)
		}
		for id, p := range after.Partitions {
			if p.LostTerm != before.Partitions[id].LostTerm {
				t.Fatalf("partition %d was lost over a grant that is not believed", id)
			}
		}
	})
}

// TestAttackManyAttaches: each logical node of another's name is denied, and an honest
// newcomer gets one in between.
func TestAttackManyAttaches(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, true, func(t *testing.T, b *besieged) {
		nodes := long.Or(512, 8192)
		claim := wire.Claim{Sequencer: b.honest(), ID: attachment.ID{7}, Grid: grid.RosterOf(b.g.Member("m1")).Grid}
		owner, a := b.target(b.g.OwnerOf(victimName)), b.identified(security.Holder)
		for i := range nodes {
			in := wire.AttachRequest{Holder: attachment.HolderID(fmt.Sprint("evil-", i)), Claim: claim}
			if err := a.Call(t.Context(), owner, wire.PathAttach, in); !a.IsRefusal(err) {
				t.Fatalf("attach %d by %s: %v", i, a.Name, err)
			}
			if i == nodes/2 {
				b.newcomer("another").during(time.Second, "amid the attaches")
			}
		}
		if b.audit.denied(t, security.Attach) == 0 {
			t.Error("no attach has a line in the audit log")
		}
		b.ids.during(20*time.Second, "after the attaches")
		b.checkMemory("the attaches")
	})
}

// TestAttackManyNames: names that a holder may not use cost no memory, by whichever call.
func TestAttackManyNames(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, true, func(t *testing.T, b *besieged) {
		names := long.Or(500, 20000)
		a := b.identified(security.Holder)
		for i := range names {
			name := fmt.Sprintf("evil-%0200d", i)
			in, path := any(wire.CreateRequest{Name: name}), wire.PathCreate
			if i%2 == 1 {
				in, path = wire.IDsRequest{Name: name, Create: &wire.IDsCreate{}}, wire.PathIDs
			}
			if err := a.Call(t.Context(), b.target(b.g.Running()[i%3]), path, in); !a.IsRefusal(err) {
				t.Fatalf("name %d by %s: %v", i, a.Name, err)
			}
		}
		b.withstood("many names")
	})
}

// TestAttackFromABrowser: a page of another origin gets nothing by the certificate of the
// person who looks at it, and a body without a type does nothing.
func TestAttackFromABrowser(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		addr := b.target(b.g.OwnerOf(victimName)).API
		body := []byte(`{"name":"` + victimName + `"}`)
		cert, err := evil.Issue(b.authority, gridtest.Now(), pki.Request{Name: "ops", Role: security.Admin})
		if err != nil {
			t.Fatal(err)
		}
		conf := evil.Trusting(b.authority, cert)
		conf.Time = gridtest.Now
		ops := evil.Attacker{TLS: conf, Dial: b.g.Network.Host("ops").Dial}
		for what, header := range map[string]http.Header{
			"an origin":    {"Origin": {"https://evil.example"}, "Content-Type": {wire.JSON}},
			"a site":       {"Sec-Fetch-Site": {"cross-site"}, "Content-Type": {wire.JSON}},
			"no type":      {},
			"a form":       {"Content-Type": {"application/x-www-form-urlencoded"}},
			"a plain text": {"Content-Type": {"text/plain"}},
		} {
			_, err := ops.Do(t.Context(), addr, http.MethodPost, wire.PathDestroy, header, body)
			if !errors.Is(err, wire.ErrCrossOrigin) && !errors.Is(err, wire.ErrContentType) {
				t.Errorf("%s, with the certificate of an admin: %v", what, err)
			}
		}
		b.withstood("requests of pages")
	})
}
