package gridtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestReleaseOfAForgedGrant: releases of names that do not exist, whose grants a caller made up, add no name and no
// ID to the metrics, over POST /v1/detach either. A release of a grant of an existing name counts.
func TestReleaseOfAForgedGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second)
		s := newGenerators(t, g)
		first := s.grant("m1", wire.GrantRequest{Name: "orders", Create: &wire.IDsCreate{}})
		forged, err := wire.ParseGrantToken(first.Grant)
		ok(t, "parse", err)
		for i := range 20 {
			forged.Sequencer.Name, forged.Secret[0] = fmt.Sprint("invented-", i), byte(i)
			in := wire.GrantRelease{Grant: forged.String(), Used: wire.GrantUsed{IDs: 1000}}
			ok(t, "release", s.send(http.MethodDelete, "m2", in, &wire.GrantReleased{}))
			detach := wire.DetachRequest{Holder: forged.Holder(), Sequencer: forged.Sequencer, ID: attachment.ID{1}, IDs: 1000}
			at := g.OwnerOf(forged.Sequencer.Name) + ":7948"
			ok(t, "detach", s.admin.Call(t.Context(), at, wire.PathDetach, detach, &wire.Done{}))
		}
		in := wire.GrantRelease{Grant: first.Grant, Last: &first.From, Used: wire.GrantUsed{IDs: 7}}
		ok(t, "release", s.send(http.MethodDelete, "m3", in, &wire.GrantReleased{}))
		var all uint64
		var names []string
		for _, name := range g.Running() {
			used := g.Member(name).Stats().Holders
			all += used.IDs
			for _, q := range used.Sequencers {
				names = append(names, q.Name)
			}
		}
		if all != 7 || !slices.Equal(names, []string{"orders"}) {
			t.Errorf("the metrics have %d IDs of %q, want 7 of orders", all, names)
		}
	})
}
