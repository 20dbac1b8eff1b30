package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestPlacesOfAPeer: one peer's connections beyond its limit are refused, those of others are
// not, and each that ends makes room for one.
func TestPlacesOfAPeer(t *testing.T) {
	for k := fromHolder; k < kinds; k++ {
		p := &places{}
		greedy := placeKey{kind: k, id: "cert:1", host: "10.0.0.1"}
		var leaves []func()
		for range shares[k].peer {
			_, leave, err := p.enter(greedy)
			if err != nil {
				t.Fatalf("%s: connection %d: %v", shares[k].name, len(leaves)+1, err)
			}
			leaves = append(leaves, leave)
		}
		if _, _, err := p.enter(greedy); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("%s: one more: %v", shares[k].name, err)
		}
		if n := p.refusals(); n != 1 {
			t.Errorf("%s: %d refusals", shares[k].name, n)
		}
		if _, _, err := p.enter(placeKey{kind: k, id: "cert:1", host: "10.0.0.2"}); err != nil {
			t.Errorf("%s: another address: %v", shares[k].name, err)
		}
		leaves[0]()
		leaves[0]() // counts once
		if _, _, err := p.enter(greedy); err != nil {
			t.Errorf("%s: after one ended: %v", shares[k].name, err)
		}
		if _, _, err := p.enter(greedy); err == nil {
			t.Errorf("%s: an end counted twice", shares[k].name)
		}
	}
}

// TestSharesOfKinds: holders and strangers that have taken all that they may leave members
// their places, and strangers theirs.
func TestSharesOfKinds(t *testing.T) {
	p := &places{}
	fill := func(k kind) {
		for i := 0; ; i++ {
			if _, _, err := p.enter(placeKey{kind: k, host: string(rune('0' + i/200))}); err != nil {
				return
			}
		}
	}
	fill(fromHolder)
	if n := p.all[fromHolder]; n != shares[fromHolder].all {
		t.Fatalf("%d connections of holders", n)
	}
	for _, k := range []kind{fromStranger, fromMember} {
		if _, _, err := p.enter(placeKey{kind: k, host: "x"}); err != nil {
			t.Errorf("%s: %v", shares[k].name, err)
		}
		fill(k)
	}
	sum := 0
	for k := fromMember; k < inClear; k++ {
		sum += shares[k].all
	}
	if sum != shares[inClear].all {
		t.Errorf("the shares have %d connections together, in clear text %d", sum, shares[inClear].all)
	}
}

// TestKindOf: only the role member has the members' share.
func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		peer security.Peer
		want kind
	}{
		{security.Peer{Role: security.Member, ID: "cert:1"}, fromMember},
		{security.Peer{Role: security.Admin, ID: "cert:1"}, fromHolder},
		{security.Peer{Role: security.Holder, ID: "cert:1"}, fromHolder},
		{security.Peer{ID: "cert:1"}, fromHolder}, // without a role
		{security.Peer{}, fromStranger},
	} {
		if got := kindOf(c.peer); got != c.want {
			t.Errorf("%v: %d, want %d", c.peer, got, c.want)
		}
	}
}

// TestBodiesAreCharged: before they are read, a body of no stated length as the longest; a
// peer waits for its own bodies alone, and gives up in time.
func TestBodiesAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newBudget(callerBodies, callerWaits)
		peer := func(k kind) *connection {
			share := &peerShare{bodies: newBudget(peerBodies, peerWaits)}
			return &connection{kind: k, bodies: &share.bodies, allBodies: &all}
		}
		greedy, other := peer(fromHolder), peer(fromHolder)
		var releases []func()
		for range peerBodies / wire.MaxBody {
			release, err := greedy.chargeBody(t.Context(), -1)
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		begin := time.Now()
		if _, err := greedy.chargeBody(t.Context(), 1); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("one byte more: %v", err)
		}
		if waited := time.Since(begin); waited != chargeTimeout {
			t.Errorf("it waited %v", waited)
		}
		if _, err := other.chargeBody(t.Context(), -1); err != nil {
			t.Errorf("another peer: %v", err)
		}
		charged := make(chan error)
		go func() { _, err := greedy.chargeBody(t.Context(), wire.MaxBody); charged <- err }()
		synctest.Wait()
		releases[0]()
		if err := <-charged; err != nil {
			t.Errorf("after a release: %v", err)
		}
	})
}

// TestBodiesOfAllAreBounded: many peers together have a bound, which members do not share.
func TestBodiesOfAllAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newBudget(callerBodies, callerWaits)
		peer := func(k kind) *connection {
			share := &peerShare{bodies: newBudget(peerBodies, peerWaits)}
			return &connection{kind: k, bodies: &share.bodies, allBodies: &all}
		}
		for range callerBodies / wire.MaxBody {
			if _, err := peer(fromHolder).chargeBody(t.Context(), -1); err != nil {
				t.Fatal(err)
			}
		}
		one := peer(fromHolder)
		if _, err := one.chargeBody(t.Context(), 1); !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("one more peer: %v", err)
		}
		if one.bodies.free != peerBodies {
			t.Errorf("a refused body keeps %d bytes of its peer", peerBodies-one.bodies.free)
		}
		if _, err := peer(fromMember).chargeBody(context.Background(), -1); err != nil {
			t.Errorf("a member: %v", err)
		}
	})
}

// TestFewWaitForTheirBytes: further ones are refused without a wait, and one that gave up
// makes room for another.
func TestFewWaitForTheirBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 2)
		if _, err := b.charge(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		for range 2 {
			go func() { _, err := b.charge(ctx, 1); gaveUp <- err }()
		}
		synctest.Wait()
		begin := time.Now()
		if _, err := b.charge(t.Context(), 1); !errors.Is(err, errTooManyBytes) || time.Since(begin) > 0 {
			t.Errorf("a third one waited %v: %v", time.Since(begin), err)
		}
		cancel()
		for range 2 {
			if err := <-gaveUp; !errors.Is(err, sequencer.ErrUnavailable) {
				t.Error(err)
			}
		}
		if b.waits != 2 || b.free != 0 {
			t.Errorf("%d may wait for %d bytes", b.waits, b.free)
		}
	})
}

// TestOldestRefusalMakesRoom: silent connections without a place do not keep a health check
// from its answer.
func TestOldestRefusalMakesRoom(t *testing.T) {
	var r refusals
	var conns []*openConn
	for range refusalsMax + 1 {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		conns = append(conns, &openConn{Conn: near, closed: make(chan struct{})})
		r.add(conns[len(conns)-1])
	}
	for i, c := range conns {
		closed := false
		select {
		case <-c.closed:
			closed = true
		default:
		}
		if closed != (i == 0) {
			t.Errorf("connection %d: closed %v", i, closed)
		}
		_ = c.Close()
	}
	if len(r.conns) != 0 {
		t.Errorf("%d connections that were closed are kept", len(r.conns))
	}
}

// TestRefusalAfterTheBody: a connection without a place is closed with its answer. Bytes of a body that were
// not read would reset it, and some clients would lose the answer.
func TestRefusalAfterTheBody(t *testing.T) {
	clock := handles.NewClock()
	a := &Server{cfg: Config{State: state.New(clock, clock)}}
	body := strings.NewReader(`{"name":"orders"}`)
	r := httptest.NewRequest(http.MethodPost, wire.PathIDs, body)
	r = r.WithContext(context.WithValue(r.Context(), connectionKey{}, &connection{refusal: errTooManyBytes}))
	w := httptest.NewRecorder()
	if !a.refusedHere(w, r) || w.Code != http.StatusServiceUnavailable || w.Header().Get("Connection") != "close" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if body.Len() > 0 {
		t.Errorf("%d bytes of the body were not read", body.Len())
	}
}
