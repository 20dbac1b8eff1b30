package api

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"
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
