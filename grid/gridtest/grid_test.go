package gridtest_test

import (
	"log/slog"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

func logger() *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return nil
}

func TestCrashOfTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: logger()})
		orders, err := g.Client("web").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []sequencer.ID
		take := func(n int) {
			for range n {
				id, err := orders.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
		}
		take(1000)
		g.Crash(g.OwnerOf("orders"))
		for range 40 {
			take(1)
			time.Sleep(time.Second)
		}
		take(1000)
		t.Log(orders.Stats())
		if !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(ids) {
			t.Error("IDs do not ascend")
		}
	})
}
