package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestClaimsShowTheEnd: a claim tells how far the attachment was granted, in which grid and
// at which version. A grid that begins again raises its floors by that.
func TestClaimsShowTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := f.dial(t)
		create(t, c, "orders")
		e := c.handles.Live("orders")
		f.set(func() { f.calls = nil; clear(f.sessions) }) // sets are not known: it is shown by claims
		held, _ := e.Control.Held()
		time.Sleep(4 * time.Second)
		var claims []wire.Claim
		for _, call := range f.made(wire.PathRenew) {
			claims = append(claims, call.in.(wire.RenewRequest).Claims...)
		}
		if len(claims) == 0 {
			t.Fatal("nothing was shown by a claim")
		}
		got := claims[0]
		if got.ID != held.ID || *got.Node != held.Node || got.Until != held.Grant.Until || got.Grid != f.stamp.Grid ||
			got.Version != f.stamp.Version {
			t.Errorf("the claim %+v does not show %+v of grid %v at version %d", got, held, f.stamp.Grid, f.stamp.Version)
		}
	})
}
