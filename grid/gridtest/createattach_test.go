package gridtest_test

import (
	"errors"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// otherThan returns a member that does not own a name.
func otherThan(g *gridtest.Grid, name string) string {
	for _, member := range g.Running() {
		if member != g.OwnerOf(name) {
			return member
		}
	}
	return ""
}

// createAttach returns a request to create and attach under an ID.
func createAttach(name string, id byte) wire.CreateRequest {
	return wire.CreateRequest{Name: name, Nodes: 128,
		Attach: &wire.CreateAttach{Holder: "h", ID: attachment.ID{id}}}
}

// TestCreateAttachAtAnyMember: the member that is asked passes the request on to the owner. The
// same request again, by the owner or another member, is answered with the same logical node.
func TestCreateAttachAtAnyMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second) // the partitions serve
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		answers := map[string]wire.SequencerResponse{}
		for _, member := range g.Running() {
			var res wire.SequencerResponse
			ok(t, "create at "+member, ops.Call(t.Context(), member+":7948", wire.PathCreate, createAttach("orders", 1), &res))
			if res.Attached == nil || res.Attached.Error != nil {
				t.Fatalf("%s answers %+v", member, res)
			}
			answers[member] = res
		}
		first := answers["m1"]
		for member, res := range answers {
			if res.Sequencer != first.Sequencer || res.Attached.Node != first.Attached.Node ||
				res.Attached.Grant.From != first.Attached.Grant.From {
				t.Errorf("%s answers %+v, m1 %+v", member, res, first)
			}
		}
		if n := g.Member(g.OwnerOf("orders")).Status().Sequencers; len(n) != 1 || n[0].Attached != 1 {
			t.Errorf("the status shows %+v", n)
		}
	})
}

// TestCreateAttachThatIsRefused: a request that is malformed creates nothing; one whose create is
// served and whose attach is not tells both.
func TestCreateAttachThatIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		setQuotas(t, g, "m1", `{"quotas":[{"pattern":"orders","holder_nodes":1}]}`)
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		for _, member := range []string{g.OwnerOf("orders"), otherThan(g, "orders")} {
			call := func(in wire.CreateRequest) (res wire.SequencerResponse, err error) {
				err = ops.Call(t.Context(), member+":7948", wire.PathCreate, in, &res)
				return res, err
			}
			if _, err := call(createAttach("zero", 0)); !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("at %s: a zero attachment ID: %v", member, err)
			}
			_, err := call(createAttach("", 1))
			if !errors.Is(err, sequencer.ErrInvalidConfig) {
				t.Errorf("at %s: no name: %v", member, err)
			}
			res, err := call(createAttach("orders", 1))
			ok(t, "the first attach", err)
			if res.Attached == nil || res.Attached.Error != nil {
				t.Errorf("at %s: the first attach: %+v", member, res.Attached)
			}
			res, err = call(createAttach("orders", 2))
			ok(t, "the second attach", err)
			if e := res.Attached.Error; e == nil || e.Code != "quota" || res.Sequencer.Life.IsZero() {
				t.Errorf("at %s: the second attach: %+v", member, res)
			}
		}
		for _, member := range g.Running() {
			for _, row := range g.Member(member).Status().Sequencers {
				if row.Name != "orders" {
					t.Errorf("%+v was created", row)
				}
			}
		}
	})
}

// asMember makes one call of a member to another.
func (r *roles) asMember(member, path string, in, out any) error {
	r.t.Helper()
	h := calls.NewPool(r.g.Network.Host("ops").Dial, r.g.Load(security.Member))
	defer h.Close()
	s := r.g.Member(member).Status()
	head := frame.Head{Path: path, Target: s.Answering, Grid: s.Grid}
	return h.CallWith(r.t.Context(), member+":7948", head, in, out)
}

// TestCreateAttachOnBehalf: the owner serves a request that was passed on as the first caller's:
// by its role, its names and its quota, and the audit has its name. No other caller may pass one
// on, whatever it says of itself.
func TestCreateAttachOnBehalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		const name = "orders-1"
		owner, other := r.g.OwnerOf(name), otherThan(r.g, name)
		time.Sleep(30 * time.Second) // the partitions serve
		limit := wire.SettingsRequest{Quotas: []roster.QuotaEdit{{Pattern: "orders-2", Calls: new(1)}}}
		ok(t, "quota", r.call(security.Admin, nil, owner, wire.PathSettings, limit, &wire.SettingsResponse{}))
		time.Sleep(time.Second)
		var res wire.SequencerResponse
		ok(t, "create at another member", r.call(security.Holder, []security.Pattern{"orders-*"}, other, wire.PathCreate,
			createAttach(name, 1), &res))
		if res.Attached == nil || res.Attached.Error != nil {
			t.Fatalf("the answer is %+v", res)
		}
		for _, role := range []security.Role{security.Reader, security.Holder} {
			for _, member := range []string{owner, other} {
				err := r.call(role, []security.Pattern{"bills-*"}, member, wire.PathCreate, createAttach(name, 2), &res)
				if !errors.Is(err, security.ErrDenied) {
					t.Errorf("a %s of bills-* at %s: %v", role, member, err)
				}
			}
		}
		forged := wire.RelayCreateRequest{Create: createAttach(name, 3),
			Caller: &wire.Caller{Role: security.Member, Remote: "10.9.9.9:1"}}
		for _, role := range []security.Role{security.Reader, security.Holder, security.Admin} {
			if err := r.call(role, nil, owner, wire.PathRelayCreate, forged, &res); !errors.Is(err, security.ErrDenied) {
				t.Errorf("passed on by a %s: %v", role, err)
			}
		}
		// A member may, and the owner decides by the caller that it states.
		as := func(c wire.Caller, create wire.CreateRequest) error {
			return r.asMember(owner, wire.PathRelayCreate, wire.RelayCreateRequest{Create: create, Caller: &c}, &res)
		}
		web := wire.Caller{Role: security.Holder, Names: []security.Pattern{"orders-*"}, Name: "web", ID: "cert:web",
			Remote: "10.7.7.7:1"}
		ok(t, "passed on by a member", as(web, createAttach(name, 4)))
		for what, c := range map[string]wire.Caller{
			"a reader": {Role: security.Reader, ID: "cert:r", Remote: "10.7.7.7:1"},
			"a holder of others": {Role: security.Holder, Names: []security.Pattern{"bills-*"}, ID: "cert:b",
				Remote: "10.7.7.7:1"},
		} {
			if err := as(c, createAttach(name, 5)); !errors.Is(err, security.ErrDenied) {
				t.Errorf("%s, passed on: %v", what, err)
			}
		}
		for what, c := range map[string]wire.Caller{
			"no role": {ID: "cert:r"}, "an unknown role": {Role: "king"},
			"an empty pattern": {Role: security.Holder, Names: []security.Pattern{""}},
			"a long name":      {Role: security.Holder, Name: strings.Repeat("x", 2000)},
		} {
			if err := as(c, createAttach(name, 6)); !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("%s: %v", what, err)
			}
		}
		ok(t, "a create alone, passed on", as(web, wire.CreateRequest{Name: name, Nodes: 128}))
		// A call that creates and attaches is one call, also where it is passed on to.
		limited := func() error {
			return r.asMember(r.g.OwnerOf("orders-2"), wire.PathRelayCreate,
				wire.RelayCreateRequest{Create: createAttach("orders-2", 7), Caller: &web}, &res)
		}
		ok(t, "the first call of a second", limited())
		if err := limited(); !errors.Is(err, sequencer.ErrQuota) {
			t.Errorf("the second call of a second: %v", err)
		}
		time.Sleep(time.Second)
		ok(t, "a second later", limited())
		created, refused := 0, 0
		for _, l := range r.log.of(t, "create") {
			switch {
			case l.Name == name && l.Result == "ok":
				created++
				if l.Host != owner || !strings.Contains(l.Who, "role holder, names orders-*") ||
					!strings.HasPrefix(l.Who, "10.0.0.") {
					t.Errorf("the audit has %+v", l)
				}
			case l.Name == "orders-2" && l.Result != "ok":
				refused++
				if l.Host != r.g.OwnerOf("orders-2") || !strings.HasPrefix(l.Who, `10.7.7.7:1 "web" (cert:web`) {
					t.Errorf("the audit has %+v", l)
				}
			}
		}
		if created != 1 || refused != 1 {
			t.Errorf("the audit has %+v", r.log.of(t, "create"))
		}
	})
}
