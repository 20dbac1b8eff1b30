package api

import (
	"testing"
	"time"
)

// TestResetsOfAConnection: a connection may reset resetsMax calls at once, and as many again a second later.
func TestResetsOfAConnection(t *testing.T) {
	r, now := newResets(), time.Now()
	for range 10 {
		now = now.Add(time.Second + 1)
		for i := range resetsMax {
			if !r.AllowN(now, 1) {
				t.Fatalf("reset %d is too many", i+1)
			}
		}
		if r.AllowN(now, 1) {
			t.Error("one more is not too many")
		}
	}
}

// TestResetsEndTheConnection: of a caller, not of a member.
func TestResetsEndTheConnection(t *testing.T) {
	for _, k := range []kind{fromHolder, fromStranger, inClear, fromMember} {
		closed := false
		c := &connection{kind: k, misused: func() { closed = true }, resets: newResets()}
		for range resetsMax {
			c.givenUp()
		}
		if closed {
			t.Errorf("%s: closed after %d", shares[k].name, resetsMax)
		}
		for range 3 * resetsMax { // more than a slow machine has back meanwhile
			c.givenUp()
		}
		if closed != (k != fromMember) {
			t.Errorf("%s: closed %v after one more", shares[k].name, closed)
		}
	}
}
