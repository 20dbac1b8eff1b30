package api

import (
	"testing"
	"time"
)

// TestResetsOfAConnection: those of one period count, and not those before.
func TestResetsOfAConnection(t *testing.T) {
	var r resets
	now := time.Unix(1000, 0)
	for range 10 {
		now = now.Add(resetsPeriod + 1)
		for i := range resetsMax {
			if r.note(now) {
				t.Fatalf("reset %d is too many", i+1)
			}
		}
	}
	if !r.note(now.Add(resetsPeriod)) {
		t.Error("one more is not too many")
	}
}

// TestResetsEndTheConnection: of a caller, not of a member.
func TestResetsEndTheConnection(t *testing.T) {
	for _, k := range []kind{fromHolder, fromStranger, inClear, fromMember} {
		closed := false
		c := &connection{kind: k, misused: func() { closed = true }}
		for range resetsMax {
			c.givenUp()
		}
		if closed {
			t.Errorf("%s: closed after %d", shares[k].name, resetsMax)
		}
		for range resetsMax + 1 { // a slow machine may begin another period
			c.givenUp()
		}
		if closed != (k != fromMember) {
			t.Errorf("%s: closed %v after one more", shares[k].name, closed)
		}
	}
}
