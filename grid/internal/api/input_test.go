package api

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// TestInputWithoutAnswers: what a connection sends counts from the last answer and within a
// period; the bodies of requests in progress are allowed besides.
func TestInputWithoutAnswers(t *testing.T) {
	now := time.Unix(1000, 0)
	var i input
	if i.note(unansweredMax, now) || !i.note(1, now) {
		t.Error("the bound is another one")
	}
	now = now.Add(unansweredPeriod + 1)
	if i.note(unansweredMax, now) {
		t.Error("bytes of an earlier period count")
	}
	end := i.begin(1000)
	if i.note(1000, now) || !i.note(1, now) {
		t.Error("a body in progress is not allowed for")
	}
	end(false)
	if !i.note(0, now) {
		t.Error("a request that was given up counts as answered")
	}
	i.begin(0)(true)
	if i.note(unansweredMax, now) {
		t.Error("bytes before an answer count")
	}
	end = i.begin(-1)
	if i.note(wire.MaxBody, now) || !i.note(1, now) {
		t.Error("a body of no stated length is not allowed for as the longest")
	}
	end(true)
}

// TestTooMuchInputEndsTheConnection: of a caller, not of a member; and the peer of a
// connection under TLS is kept out.
func TestTooMuchInputEndsTheConnection(t *testing.T) {
	for _, k := range []kind{fromHolder, fromStranger, inClear, fromMember} {
		near, far := net.Pipe()
		out := false
		c := &openConn{Conn: near, kind: k, closed: make(chan struct{}), keepOut: func() { out = true }}
		go func() {
			_, _ = far.Write(make([]byte, unansweredMax+1))
			_ = far.Close()
		}()
		b := make([]byte, 64<<10)
		for {
			if _, err := c.Read(b); err != nil {
				break
			}
		}
		ended := false
		select {
		case <-c.closed:
			ended = true
		default:
		}
		if want := k != fromMember; ended != want || out != want {
			t.Errorf("%s: ended %v, kept out %v", shares[k].name, ended, out)
		}
	}
}

// TestPeerIsKeptOut for a time after it misused a connection, and no other one.
func TestPeerIsKeptOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &places{}
		evil, other := placeKey{fromHolder, "cert:1", "10.0.0.1"}, placeKey{fromHolder, "cert:1", "10.0.0.2"}
		p.keepOut(evil, time.Now())
		if _, _, err := p.enter(evil); err == nil {
			t.Error("it is let in")
		}
		if _, _, err := p.enter(other); err != nil {
			t.Error(err)
		}
		time.Sleep(outFor)
		if _, _, err := p.enter(evil); err != nil {
			t.Error(err)
		}
		for i := range 2 * outMax {
			p.keepOut(placeKey{fromHolder, "cert:1", string(rune('a' + i))}, time.Now())
		}
		if len(p.out) != outMax {
			t.Errorf("%d are kept out", len(p.out))
		}
		time.Sleep(outFor + 1)
		p.keepOut(evil, time.Now())
		if len(p.out) != 1 {
			t.Errorf("%d are kept out after their time", len(p.out))
		}
	})
}

// TestLargeBodiesArePaced: a peer's, beyond what it may send at once, and small ones are not.
func TestLargeBodiesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newBudget(callerBodies, callerWaits)
		own := newBudget(peerBodies, peerWaits)
		c := &connection{kind: fromHolder, bodies: &own, allBodies: &all}
		send := func(n int64) {
			t.Helper()
			release, err := c.chargeBody(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		const bodies = 40
		began := time.Now()
		for range bodies {
			send(wire.MaxBody)
		}
		want := time.Second*(bodies-1)/4 - peerAhead
		if took := time.Since(began); took < want || took > want+time.Second {
			t.Errorf("%d bodies of the largest size were read in %v, want %v", bodies, took, want)
		}
		began = time.Now()
		send(smallBody)
		if took := time.Since(began); took > 0 {
			t.Errorf("a small one waited %v", took)
		}
		clear := &connection{kind: inClear, bodies: &own, allBodies: &all}
		began = time.Now()
		if _, err := clear.chargeBody(t.Context(), smallBody+1); err != nil || time.Since(began) > 0 {
			t.Errorf("in clear text one waited %v (%v)", time.Since(began), err)
		}
		time.Sleep(time.Minute)
	})
}
