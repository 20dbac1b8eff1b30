package api

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
)

// turnsOf returns turns in a process without lulls.
func turnsOf(atOnce int, share float64) *handshakeTurns {
	return &handshakeTurns{atOnce: atOnce, share: share, late: -1, pause: lullMost}
}

// TestHandshakeWithoutATurn: one that waits for its other side holds up no other one.
func TestHandshakeWithoutATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turnsOf(1, 1)
		near, far := net.Pipe()
		silent := &turnConn{Conn: near, turns: turns, from: "a"}
		read := func() { _, _ = silent.Read(make([]byte, 1)) }
		go read()
		_, _ = far.Write([]byte("x"))
		synctest.Wait() // it computes
		var other *handshakeTurn
		go func() { other = turns.enter("b", nil) }()
		synctest.Wait()
		if other != nil {
			t.Fatal("two have the turn")
		}
		go read()
		synctest.Wait()
		if other == nil {
			t.Fatal("one that reads keeps its turn")
		}
		turns.leave(other, 0)
		_ = far.Close()
		synctest.Wait()
		silent.end()
		if turns.running != 0 {
			t.Errorf("%d turns are kept", turns.running)
		}
	})
}

// TestHandshakesOfAddressesRotate: one address with many handshakes delays another one by a
// single turn, and its newest comes first.
func TestHandshakesOfAddressesRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turnsOf(1, 1)
		var order []string
		var last *handshakeTurn
		wait := func(from, name string) {
			go func() {
				last = turns.enter(from, nil)
				order = append(order, name)
			}()
			synctest.Wait()
		}
		wait("evil", "first")
		for i := range 3 {
			wait("evil", fmt.Sprint("evil ", i))
		}
		wait("honest", "honest")
		for range 4 {
			turns.leave(last, 0)
			synctest.Wait()
		}
		if got, want := fmt.Sprint(order), "[first evil 2 honest evil 1 evil 0]"; got != want {
			t.Errorf("turns of %s, want %s", got, want)
		}
	})
}

// TestHandshakesHaveAShare: of the processor time that passes, handshakes have their share and
// what they may take ahead.
func TestHandshakesHaveAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const handshakes, each, share = 1000, time.Millisecond, 1.0 / 8
		turns := turnsOf(1, share)
		began := time.Now()
		for range handshakes {
			turn := turns.enter("a", nil)
			time.Sleep(each)
			turns.leave(turn, each)
		}
		took := time.Since(began)
		least := handshakes*each*8 - handshakeAhead - 8*each
		if took < least || took > least+100*time.Millisecond {
			t.Errorf("%d handshakes took %v, want %v", handshakes, took, least)
		}
		turns.leave(turns.enter("a", nil), time.Hour)
		began = time.Now()
		turns.enter("a", nil)
		if waited := time.Since(began); waited > time.Duration(float64(stretchMax)/share)+8*each {
			t.Errorf("one after a long stretch waited %v", waited)
		}
	})
}

// TestHandshakesOfACrowd leave most of the processor to others from the beginning.
func TestHandshakesOfACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, share = time.Millisecond, 1.0 / 16
		turns := turnsOf(1, share)
		begin := time.Now()
		computed := time.Duration(0)
		for time.Since(begin) < time.Second/8 {
			turn := turns.enter("a", nil)
			time.Sleep(each)
			computed += each
			turns.leave(turn, each)
		}
		took := time.Since(begin)
		want := time.Duration(float64(took+burstAhead) * share * burstTimes)
		if computed > want+each || computed < want-2*each {
			t.Errorf("in %v handshakes had the processor for %v, want %v", took, computed, want)
		}
	})
}

// TestHandshakesInALull: beyond their share, handshakes have processors that nothing else wants, and
// do not owe anything for them.
func TestHandshakesInALull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, share, during = time.Millisecond / 4, 1.0 / 64, 2 * time.Second
		had := func(turns *handshakeTurns) (computed time.Duration) {
			for began := time.Now(); time.Since(began) < during; computed += each {
				turn := turns.enter("a", nil)
				time.Sleep(each)
				turns.leave(turn, each)
			}
			return computed
		}
		turns := turnsOf(1, share)
		bound := time.Duration(float64(during+handshakeAhead)*share) + 2*each
		if busy := had(turns); busy > bound {
			t.Errorf("in a busy process handshakes had the processor for %v of %v, want at most %v", busy, during, bound)
		}
		turns.late = 0
		if idle := had(turns); idle < during/3 {
			t.Errorf("in a lull handshakes had the processor for %v of %v", idle, during)
		}
		turns.late = -1
		if busy := had(turns); busy > bound || busy < bound/2 {
			t.Errorf("after a lull handshakes had the processor for %v of %v, want at most %v and half of that", busy,
				during, bound)
		}
	})
}

// TestHandshakeGone: a connection that ends while it waits takes no turn.
func TestHandshakeGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turnsOf(1, 1)
		first := turns.enter("a", nil)
		for _, from := range []string{"a", "b"} {
			gone := make(chan struct{})
			left := make(chan bool)
			go func() { left <- turns.enter(from, gone) != nil }()
			synctest.Wait()
			close(gone)
			if <-left {
				t.Error("it has the turn of another one")
			}
		}
		if len(turns.waiting) != 0 {
			t.Errorf("waiting: %v", turns.waiting)
		}
		turns.leave(first, 0)
		gone := make(chan struct{})
		close(gone)
		for range 100 { // some get their turn and are gone immediately
			if turn := turns.enter("c", gone); turn != nil {
				turns.leave(turn, 0)
			}
		}
		if turns.running != 0 {
			t.Errorf("%d turns are kept", turns.running)
		}
	})
}

// TestHandshakeGivenUp: a caller that ended its connection before its turn has none, unless it says in
// the middle of its handshake why it leaves.
func TestHandshakeGivenUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("whether the other side has ended a connection is known on Linux alone")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	// open returns both ends of a connection whose caller has said something.
	open := func() (caller, near net.Conn) {
		caller, err := net.Dial("tcp", ln.Addr().String())
		if err == nil {
			near, err = ln.Accept()
		}
		if err == nil {
			_, err = caller.Write([]byte("hello"))
		}
		if err != nil {
			t.Fatal(err)
		}
		return caller, near
	}
	for _, when := range []string{"never", "before", "while it waits", "with last words"} {
		lastWords := when == "with last words"
		turns := turnsOf(1, 1)
		other := turns.enter("other", nil)
		caller, near := open()
		if when == "before" {
			end(t, caller, near)
		}
		given := make(chan bool, 1)
		conn := &turnConn{Conn: near, turns: turns, from: "a", begun: lastWords}
		go func() {
			_, err := conn.Read(make([]byte, 5))
			given <- err == nil
		}()
		if waits(turns, given) != (when != "before") {
			t.Errorf("leaves %s: whether it waits is wrong", when)
		}
		if when == "while it waits" || lastWords {
			end(t, caller, near)
		}
		turns.leave(other, 0)
		if got := <-given; got != (when == "never" || lastWords) {
			t.Errorf("leaves %s: given %v", when, got)
		}
		conn.end()
		if turns.running != 0 {
			t.Errorf("leaves %s: %d turns are kept", when, turns.running)
		}
		_, _ = caller.Close(), near.Close()
	}
}

// waits returns when a handshake waits for its turn, or is given up, and reports which.
func waits(turns *handshakeTurns, given chan bool) bool {
	for {
		turns.mu.Lock()
		n := len(turns.waiting)
		turns.mu.Unlock()
		if n > 0 {
			return true
		}
		if len(given) > 0 {
			return false
		}
		runtime.Gosched()
	}
}

// end closes the caller's end of a connection, and returns when the other end knows.
func end(t *testing.T, caller, near net.Conn) {
	t.Helper()
	_ = caller.Close()
	for !acceptor.Ended(near) {
		runtime.Gosched()
	}
}
