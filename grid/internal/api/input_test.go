package api

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestInputWithoutAnswers: the bytes of a connection count from the last answer and within a
// period; the bodies of requests in progress are allowed besides.
func TestInputWithoutAnswers(t *testing.T) {
	now := time.Unix(1000, 0)
	var i input
	note := func(n int, want excess, what string) {
		t.Helper()
		if got := i.note(n, now); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	note(unansweredMax, none, "as much as it may")
	note(1, misuse, "one more")
	now = now.Add(unansweredPeriod + 1)
	note(unansweredMax, none, "bytes of an earlier period")
	end := i.begin(1000)
	note(1000, none, "a body in progress")
	note(1, misuse, "more than that")
	end(false, false)
	note(0, misuse, "a request that was given up")
	i.begin(0)(true, true)
	note(unansweredMax, none, "bytes before an answer")
	end = i.begin(-1)
	note(wire.MaxBody, none, "a body of no stated length")
	note(1, misuse, "more than the longest")
	end(true, true)
	refused := input{refused: refusedMax}
	refused.begin(-1)
	if refused.note(refusedMax, now) != none || refused.note(1, now) != misuse {
		t.Error("the bound of a refused connection is another one")
	}
}

// TestInputOfAPeer: the connections of a peer together have a bound, and those of all peers,
// where one that sent little stays. Input that was answered, is of an earlier period or came by a
// connection that has ended does not count.
func TestInputOfAPeer(t *testing.T) {
	now := time.Unix(1000, 0)
	var all atomic.Int64
	peer := func() func() *input {
		var sum atomic.Int64
		return func() *input { return &input{peer: &sum, all: &all} }
	}
	open, filled := peer(), []*input{}
	fill := func() {
		for sum := 0; sum < peerUnread; sum += unansweredMax {
			i := open()
			if got := i.note(unansweredMax, now); got != none {
				t.Fatalf("%d after %d bytes", got, sum)
			}
			filled = append(filled, i)
		}
	}
	fill()
	first := filled[0]
	if got := open().note(1, now); got != misuse {
		t.Errorf("one more byte of the peer: %d", got)
	}
	for name, less := range map[string]func(*input){
		"an answer":            func(i *input) { i.begin(0)(true, true) },
		"the next period":      func(i *input) { i.note(0, now.Add(unansweredPeriod+1)) },
		"the connection ended": func(i *input) { i.end() },
	} {
		less(first)
		i := open()
		if got := i.note(unansweredMax-2, now); got != none {
			t.Errorf("%s: %d", name, got)
		}
		first = i
	}
	i := open()
	for range 2 {
		i.note(1, now)
		i.begin(-1)(true, false)
	}
	if i.unread != 2 || i.bytes != 0 {
		t.Errorf("bodies that were refused: %d unread, %d without an answer", i.unread, i.bytes)
	}
	i.end()
	if first.end(); first.note(unansweredMax, now) != none {
		t.Error("a connection that has ended counts")
	}
	for range callerUnread/peerUnread - 1 {
		open = peer()
		fill()
	}
	open = peer()
	few := open()
	if got := few.note(unreadFew, now); got != none {
		t.Errorf("little of another peer: %d", got)
	}
	if got := few.note(unansweredMax-unreadFew, now); got != crowded {
		t.Errorf("much of another peer: %d", got)
	}
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
		b, served := make([]byte, 64<<10), 0
		for {
			n, err := c.Read(b)
			if served += n; err != nil {
				break
			}
		}
		if k != fromMember && served > unansweredMax {
			t.Errorf("%s: %d bytes are served", shares[k].name, served)
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
		if _, _, err := p.enter(evil); refusedBytes(err) != keptOutMax {
			t.Errorf("it is let in, or may send as much as others: %v", err)
		}
		if got := refusedBytes(errTooManyBytes); got != refusedMax {
			t.Errorf("a connection that has no place may send %d bytes", got)
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
