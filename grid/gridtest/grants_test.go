package gridtest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// generators makes requests of generators in any language: over HTTP, as a holder.
type generators struct {
	t      *testing.T
	g      *gridtest.Grid
	http   *http.Client
	scheme string
	admin  *calls.Pool
}

func newGenerators(t *testing.T, g *gridtest.Grid, names ...security.Pattern) *generators {
	t.Helper()
	host, holder := g.Network.Host("ops"), g.Load(security.Holder, names...)
	dial := func(ctx context.Context, _, addr string) (net.Conn, error) { return host.Dial(ctx, addr) }
	transport, scheme := &http.Transport{DialContext: dial}, "http"
	if holder != nil {
		scheme = "https"
		transport.DialTLSContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
			conn, err := host.Dial(ctx, addr)
			if err != nil {
				return nil, err
			}
			return tls.Client(conn, holder.Client(addr)), nil
		}
	}
	admin := calls.NewPool(host.Dial, g.Load(security.Admin))
	t.Cleanup(func() { transport.CloseIdleConnections(); admin.Close() })
	return &generators{t, g, &http.Client{Transport: transport}, scheme, admin}
}

// send makes one request at a member, and decodes the reply or the error.
func (s *generators) send(method, member string, in, out any) error {
	s.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	url := s.scheme + "://" + member + ":7948" + wire.PathGrants
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.JSON)
	res, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := wire.ReadBody(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		var e wire.Error
		if err := json.Unmarshal(answer, &e); err != nil || e.Status() != res.StatusCode {
			s.t.Errorf("status %d with %s", res.StatusCode, answer)
		}
		return e.Unwire()
	}
	return json.Unmarshal(answer, out)
}

// grant makes a request that has to succeed.
func (s *generators) grant(member string, in wire.GrantRequest) (out wire.GrantResponse) {
	s.t.Helper()
	if err := s.send(http.MethodPost, member, in, &out); err != nil {
		s.t.Fatalf("a grant at %s: %v", member, err)
	}
	empty := out.Until == out.From
	if out.Until < out.From || out.Until <= out.Now || out.RenewIn <= 0 || empty && out.RenewIn > 1000 ||
		out.Ends <= int64(out.Until) {
		s.t.Fatalf("a grant at %s: %+v", member, out)
	}
	return out
}

// refused makes a request that has to fail.
func (s *generators) refused(method, member string, in any, want error) {
	s.t.Helper()
	var out any
	if err := s.send(method, member, in, &out); !errors.Is(err, want) {
		s.t.Errorf("%s at %s: %+v: %v, want %v", method, member, out, err, want)
	}
}

// holders returns the holders of a name.
func (s *generators) holders(name string) (out wire.HoldersResponse) {
	s.t.Helper()
	ok(s.t, "holders", s.admin.Call(s.t.Context(), "m1:7948", wire.PathHolders, wire.HoldersRequest{Name: name}, &out))
	return out
}

// TestGrants: any member takes, renews and releases a logical node for a generator, which keeps one token. A
// request that is repeated has the same result.
func TestGrants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second) // the partitions serve
		s := newGenerators(t, g)
		owner, other := g.OwnerOf("orders"), otherThan(g, "orders")
		s.refused(http.MethodPost, other, wire.GrantRequest{Name: "orders"}, sequencer.ErrNotFound)
		first := s.grant(other, wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{Nodes: 128},
			Labels: map[string]string{"host": "a"}})
		if first.Replaced || first.TimeShift != 23 || first.NodeShift != 16 || first.Counters != 1<<16 {
			t.Errorf("the first grant is %+v", first)
		}
		for _, in := range []wire.GrantRequest{{Name: "orders"}, {Grant: first.Grant}} {
			in.Labels = map[string]string{"host": strings.Repeat("a", wire.MaxLabelValue+1)}
			s.refused(http.MethodPost, other, in, wire.ErrBadRequest)
		}
		second := s.grant(owner, wire.GrantRequest{Name: "orders"})
		if second.Node == first.Node {
			t.Errorf("two generators have node %d", first.Node)
		}
		h := s.holders("orders").Holders
		if len(h) != 2 || h[0].Labels["host"]+h[1].Labels["host"] != "a" {
			t.Errorf("the holders are %+v", h)
		}
		at := first
		for _, member := range g.Running() {
			time.Sleep(time.Duration(at.RenewIn) * time.Millisecond)
			var twice [2]wire.GrantResponse
			for i := range twice {
				twice[i] = s.grant(member, wire.GrantRequest{Grant: at.Grant, Used: wire.GrantUsed{IDs: 5}})
				r := twice[i]
				if r.Replaced || r.Node != first.Node || r.From != first.From || r.Until <= at.Until {
					t.Errorf("renewed at %s, try %d: %+v after %+v", member, i, r, at)
				}
			}
			at = twice[1]
		}
		s.refused(http.MethodPost, other, wire.GrantRequest{Grant: at.Grant, Create: &wire.IDsCreate{}}, wire.ErrBadRequest)
		s.refused(http.MethodPost, other, wire.GrantRequest{Grant: at.Grant[1:]}, wire.ErrBadRequest)
		never := wire.GrantRelease{Grant: at.Grant, Last: new(clustertime.Tick(-1))}
		s.refused(http.MethodDelete, other, never, wire.ErrBadRequest)
		released := wire.GrantRelease{Grant: at.Grant, Last: &at.Now}
		ok(t, "release", s.send(http.MethodDelete, other, released, &wire.GrantReleased{}))
		ok(t, "released again", s.send(http.MethodDelete, owner, released, &wire.GrantReleased{}))
		s.refused(http.MethodPost, owner, wire.GrantRequest{Grant: at.Grant}, sequencer.ErrDetached)
		if h := s.holders("orders").Holders; len(h) != 1 {
			t.Errorf("after a release the holders are %+v", h)
		}
		again := s.grant(other, wire.GrantRequest{Name: "orders"})
		if again.Node == first.Node && again.From <= at.Now {
			t.Errorf("node %d has a new grant from %d, and was used until %d", again.Node, again.From, at.Now)
		}
		var used uint64
		for _, name := range g.Running() {
			used += g.Member(name).Stats().Holders.IDs
		}
		if used != 30 {
			t.Errorf("%d IDs were reported, want 30", used)
		}
	})
}

// TestGrantOfADestroyedName: a renewal ends, and creates no name again.
func TestGrantOfADestroyedName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second)
		s := newGenerators(t, g)
		first := s.grant("m1", wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{}})
		destroyed := make(chan error, 1)
		go func() {
			in := wire.DestroyRequest{Name: "orders"}
			destroyed <- s.admin.Call(t.Context(), g.OwnerOf("orders")+":7948", wire.PathDestroy, in, &wire.Done{})
		}()
		time.Sleep(time.Second)
		for _, member := range g.Running() {
			s.refused(http.MethodPost, member, wire.GrantRequest{Grant: first.Grant}, sequencer.ErrDestroyed)
		}
		ok(t, "release", s.send(http.MethodDelete, "m2", wire.GrantRelease{Grant: first.Grant, Last: &first.From},
			&wire.GrantReleased{}))
		ok(t, "destroy", <-destroyed)
		for _, member := range g.Running() {
			s.refused(http.MethodPost, member, wire.GrantRequest{Grant: first.Grant}, sequencer.ErrDestroyed)
			s.refused(http.MethodPost, member, wire.GrantRequest{Name: "orders"}, sequencer.ErrNotFound)
		}
		next := s.grant("m1", wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{}})
		if next.From <= first.From {
			t.Errorf("the next life begins at %d, the one before at %d", next.From, first.From)
		}
		s.refused(http.MethodPost, "m3", wire.GrantRequest{Grant: first.Grant}, sequencer.ErrDestroyed)
	})
}

// TestGrantIsReplaced: a generator that was paused while another one got its logical node gets another node
// once one is free, and the same one for the same token. Their timestamps do not overlap.
func TestGrantIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second)
		s := newGenerators(t, g)
		layout := sequencer.Layout{Bits: 63, LowBits: 22, Nodes: 16}
		paused := s.grant("m1", wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{Layout: wire.Layout(layout)}})
		var others [16]wire.GrantResponse
		for i := 1; i < len(others); i++ {
			others[i] = s.grant("m2", wire.GrantRequest{Name: "orders"})
		}
		s.refused(http.MethodPost, "m3", wire.GrantRequest{Name: "orders"}, sequencer.ErrNoFreeNode)
		renew := func(from int) {
			for i := from; i < len(others); i++ {
				others[i] = s.grant("m2", wire.GrantRequest{Grant: others[i].Grant})
			}
		}
		for range 10 { // the session of the paused one ends
			time.Sleep(3 * time.Second)
			renew(1)
		}
		others[0] = s.grant("m3", wire.GrantRequest{Name: "orders"})
		if others[0].Node != paused.Node || others[0].From < paused.Until {
			t.Fatalf("the node that is free is %+v, the paused one had %+v", others[0], paused)
		}
		s.refused(http.MethodPost, "m1", wire.GrantRequest{Grant: paused.Grant}, sequencer.ErrNoFreeNode)
		renew(0)
		ok(t, "release", s.send(http.MethodDelete, "m1", wire.GrantRelease{Grant: others[5].Grant}, &wire.GrantReleased{}))
		first := s.grant("m1", wire.GrantRequest{Grant: paused.Grant})
		again := s.grant("m2", wire.GrantRequest{Grant: paused.Grant}) // its reply was lost
		if !first.Replaced || first.Node != others[5].Node || first.From < others[5].Until || again.Node != first.Node ||
			again.From != first.From || !again.Replaced {
			t.Errorf("in place of node %d: %+v, and again %+v; node %d was used until %d", paused.Node, first, again,
				others[5].Node, others[5].Until)
		}
		next := s.grant("m3", wire.GrantRequest{Grant: first.Grant})
		if next.Replaced || next.Node != first.Node || next.From != first.From {
			t.Errorf("renewed: %+v after %+v", next, first)
		}
	})
}

// TestGrantWhenTheOwnerEnds: the owner's successor renews the grant.
func TestGrantWhenTheOwnerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second)
		s := newGenerators(t, g)
		other := otherThan(g, "orders")
		first := s.grant(other, wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{}})
		g.Crash(g.OwnerOf("orders"))
		began := time.Now()
		var next wire.GrantResponse
		for {
			err := s.send(http.MethodPost, other, wire.GrantRequest{Grant: first.Grant}, &next)
			passes := err == nil || errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, roster.ErrWrongOwner)
			if !passes || time.Since(began) > 15*time.Second {
				t.Fatalf("after %v: %+v, %v", time.Since(began), next, err)
			}
			if err == nil && next.Until > first.Until { // a successor that is quick has no later ceiling yet
				break
			}
			time.Sleep(300 * time.Millisecond)
		}
		if next.Replaced || next.Node != first.Node || next.From < first.From {
			t.Errorf("the successor grants %+v after %+v", next, first)
		}
	})
}

// TestGrantsOnBehalf: the owner serves a request that was relayed as the first caller's, by its names and its
// quota. No other caller may relay one.
func TestGrantsOnBehalf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		time.Sleep(30 * time.Second)
		const name = "orders-1"
		owner, other := r.g.OwnerOf(name), otherThan(r.g, name)
		s := newGenerators(t, r.g, "orders-*")
		first := s.grant(other, wire.GrantRequest{Name: name, Create: &wire.IDsCreate{}})
		bills := newGenerators(t, r.g, "bills-*")
		for _, member := range []string{owner, other} {
			bills.refused(http.MethodPost, member, wire.GrantRequest{Name: name}, security.ErrDenied)
			bills.refused(http.MethodPost, member, wire.GrantRequest{Name: name, Create: &wire.IDsCreate{}}, security.ErrDenied)
			bills.refused(http.MethodPost, member, wire.GrantRequest{Grant: first.Grant}, security.ErrDenied)
			bills.refused(http.MethodDelete, member, wire.GrantRelease{Grant: first.Grant}, security.ErrDenied)
		}
		caller := wire.Caller{Role: security.Holder, Names: []security.Pattern{"bills-*"}, Name: "bills", ID: "cert:9",
			Remote: "10.0.0.1:1"}
		var out wire.GrantResponse
		for what, in := range map[string]wire.RelayGrantRequest{
			"a renewal":   {Caller: &caller, Grant: &wire.GrantRequest{Grant: first.Grant}},
			"a grant":     {Caller: &caller, Grant: &wire.GrantRequest{Name: name}},
			"a release":   {Caller: &caller, Release: &wire.GrantRelease{Grant: first.Grant}},
			"a wrong one": {Caller: &wire.Caller{Role: "x"}, Grant: &wire.GrantRequest{Name: name}},
			"none":        {},
			"both":        {Grant: &wire.GrantRequest{Name: name}, Release: &wire.GrantRelease{Grant: first.Grant}},
		} {
			err := r.asMember(owner, wire.PathRelayGrant, in, &out)
			if !errors.Is(err, security.ErrDenied) && !errors.Is(err, wire.ErrBadRequest) {
				t.Errorf("%s for a caller that may not: %v", what, err)
			}
			for _, role := range []security.Role{security.Reader, security.Holder, security.Admin} {
				if err := r.call(role, nil, owner, wire.PathRelayGrant, in, &out); !errors.Is(err, security.ErrDenied) {
					t.Errorf("%s relayed by a %s: %v", what, role, err)
				}
			}
		}
		if next := s.grant(owner, wire.GrantRequest{Grant: first.Grant}); next.Node != first.Node || next.Replaced {
			t.Errorf("after all that the grant is %+v, before %+v", next, first)
		}
	})
}
