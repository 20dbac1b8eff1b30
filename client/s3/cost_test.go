package s3

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The figures of the package comment, for 30 days.
const (
	holderPuts  = 72_000
	waiterLists = 100_000
)

// TestCostInThePackageComment: holders and waiting processes send as many requests as the
// package comment says.
func TestCostInThePackageComment(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		near := func(name string, aDay, month int) {
			t.Helper()
			if have := 30 * aDay; have < month*95/100 || have > month*105/100 {
				t.Errorf("%d %s in a month, not %d", have, name, month)
			}
		}
		server, _ := startServer(t)
		create(t, open(t, server, store.Config{Pool: 1}))
		server.counts()
		time.Sleep(24 * time.Hour)
		puts, gets, lists := server.counts()
		near("PUTs of a holder", puts, holderPuts)
		if gets+lists > 0 {
			t.Errorf("a holder sent %d GETs and %d listings", gets, lists)
		}

		waiting := open(t, server, store.Config{Pool: 1})
		server.counts()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if _, err := waiting.CreateSequencer(ctx, "orders", sequencer.Config{}); !errors.Is(err, sequencer.ErrNoFreeNode) {
			t.Errorf("%v", err)
		}
		puts, gets, lists = server.counts()
		near("listings of a waiting process", lists, waiterLists)
		near("PUTs of a holder", puts, holderPuts)
		// Each round reads the marker, and the record if it was renewed since the last.
		if gets > 2*lists {
			t.Errorf("%d GETs for %d listings", gets, lists)
		}
	})
}
