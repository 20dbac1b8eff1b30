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

func turnsOf(atOnce int, share float64) *handshakeTurns {
	return &handshakeTurns{atOnce: atOnce, share: share, waiting: map[string][]*handshakeTurn{}}
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
		entered := false
		go func() { entered = turns.enter("b", nil) }()
		synctest.Wait()
		if entered {
			t.Fatal("two have the turn")
		}
		go read()
		synctest.Wait()
		if !entered {
			t.Error("one that reads keeps its turn")
		}
		turns.leave(0)
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
		wait := func(from, name string) {
			go func() {
				turns.enter(from, nil)
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
			turns.leave(0)
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
			turns.enter("a", nil)
			time.Sleep(each)
			turns.leave(each)
		}
		took := time.Since(began)
		least := handshakes*each*8 - handshakeAhead - 8*each
		if took < least || took > least+100*time.Millisecond {
			t.Errorf("%d handshakes took %v, want %v", handshakes, took, least)
		}
		turns.enter("a", nil)
		turns.leave(time.Hour) // it had no processor for so long
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
			turns.enter("a", nil)
			time.Sleep(each)
			computed += each
			turns.leave(each)
		}
		took := time.Since(begin)
		want := time.Duration(float64(took+burstAhead) * share * burstTimes)
		if computed > want+each || computed < want-2*each {
			t.Errorf("in %v handshakes had the processor for %v, want %v", took, computed, want)
		}
	})
}

// TestHandshakeGone: a connection that ends while it waits takes no turn.
func TestHandshakeGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := turnsOf(1, 1)
		turns.enter("a", nil)
		for _, from := range []string{"a", "b"} {
			gone := make(chan struct{})
			left := make(chan bool)
			go func() { left <- turns.enter(from, gone) }()
			synctest.Wait()
			close(gone)
			if <-left {
				t.Error("it has the turn of another one")
			}
		}
		if len(turns.waiting)+len(turns.order) != 0 {
			t.Errorf("waiting: %v", turns.order)
		}
		turns.leave(0)
		gone := make(chan struct{})
		close(gone)
		for range 100 { // some get their turn and are gone immediately
			if turns.enter("c", gone) {
				turns.leave(0)
			}
		}
		if turns.running != 0 {
			t.Errorf("%d turns are kept", turns.running)
		}
	})
}

// TestHandshakeGivenUp: a caller that ended its connection before its turn has none.
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
	for _, when := range []string{"never", "before", "while it waits"} {
		turns := turnsOf(1, 1)
		turns.enter("other", nil)
		caller, near := open()
		if when == "before" {
			end(t, caller, near)
		}
		given := make(chan bool, 1)
		conn := &turnConn{Conn: near, turns: turns, from: "a"}
		go func() {
			_, err := conn.Read(make([]byte, 5))
			given <- err == nil
		}()
		if waits(turns, given) != (when != "before") {
			t.Errorf("leaves %s: whether it waits is wrong", when)
		}
		if when == "while it waits" {
			end(t, caller, near)
		}
		turns.leave(0)
		if got := <-given; got != (when == "never") {
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
		n := len(turns.order)
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
