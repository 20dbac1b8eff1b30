package gridtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// TestDestroyAtAnotherMember: each member serves a destroy. The owner decides as for the first caller, by its role
// and its names, and the audit has its address. A caller that is not a member cannot state another one.
func TestDestroyAtAnotherMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		const name = "orders-1"
		owner, other := r.g.OwnerOf(name), otherThan(r.g, name)
		time.Sleep(30 * time.Second) // the partitions serve
		create := func() {
			t.Helper()
			ok(t, "create", r.call(security.Holder, nil, owner, wire.PathCreate, wire.CreateRequest{Name: name},
				&wire.SequencerResponse{}))
		}
		create()
		destroy := func(role security.Role, member string) error {
			forged := wire.Relay{Forwarded: true, Caller: &wire.Caller{Role: security.Admin, Remote: "10.9.9.9:1"}}
			return r.call(role, nil, member, wire.PathDestroy, wire.DestroyRequest{Name: name, Relay: forged}, &wire.Done{})
		}
		for _, member := range []string{owner, other} {
			if err := destroy(security.Holder, member); !errors.Is(err, security.ErrDenied) {
				t.Errorf("a holder at %s: %v", member, err)
			}
		}
		for what, c := range map[string]struct {
			caller wire.Caller
			want   error
		}{
			"a holder":               {wire.Caller{Role: security.Holder, Remote: "10.7.7.7:1"}, security.ErrDenied},
			"an admin of other ones": {wire.Caller{Role: security.Admin, Names: []security.Pattern{"b*"}}, security.ErrDenied},
			"an unknown role":        {wire.Caller{Role: "king"}, wire.ErrBadRequest},
		} {
			in := wire.DestroyRequest{Name: name, Relay: wire.Relay{Forwarded: true, Caller: &c.caller}}
			if err := r.asMember(owner, wire.PathDestroy, in, &wire.Done{}); !errors.Is(err, c.want) {
				t.Errorf("%s, relayed: %v, want %v", what, err, c.want)
			}
		}
		ok(t, "destroy at another member", destroy(security.Admin, other))
		create()
		ok(t, "destroy at the owner", destroy(security.Admin, owner))
		destroyed := 0
		for _, l := range r.log.of(t, "destroy") {
			if l.Result != "ok" {
				continue
			}
			destroyed++
			if l.Host != owner || l.Name != name || !strings.Contains(l.Who, "role admin") ||
				!strings.HasPrefix(l.Who, "10.0.0.") {
				t.Errorf("the audit has %+v", l)
			}
		}
		if destroyed != 2 {
			t.Errorf("the audit has %d destroys: %+v", destroyed, r.log.of(t, "destroy"))
		}
	})
}

// TestDestroyWhileTheOwnerChanges: a destroy that another member relays while the owner is silent ends the sequencer,
// although the next owner may learn of its role after the member that was asked.
func TestDestroyWhileTheOwnerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second)
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		for i := range 10 {
			name := nameOfOwner(t, g, i%2 == 0)
			owner := g.OwnerOf(name)
			member := otherThan(g, name) + ":7948"
			ok(t, "create", ops.Call(t.Context(), owner+":7948", wire.PathCreate, wire.CreateRequest{Name: name},
				&wire.SequencerResponse{}))
			g.Network.Pause(owner)
			if err := ops.Call(within(t, 20*time.Second), member, wire.PathDestroy, wire.DestroyRequest{Name: name},
				&wire.Done{}); err != nil {
				t.Errorf("round %d: %s, owned by %s, at %s: %v", i, name, owner, member, err)
			}
			g.Network.Resume(owner)
			time.Sleep(time.Minute)
		}
	})
}
