package gridtest_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestDeadSeedIsLogged: a member whose only join address does not answer warns once a minute.
func TestDeadSeedIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
			c.Expect, c.Join = 0, []string{"10.9.9.9:7946"}
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 110*time.Second)
		defer cancel()
		if err := g.TryMember(ctx, "m1"); err == nil {
			t.Fatal("it serves")
		}
		if n := strings.Count(log.String(), "no member answers at a join address; retrying"); n < 1 || n > 3 || !strings.Contains(log.String(), "addr=10.9.9.9:7946") {
			t.Errorf("%d warnings:\n%s", n, log.String())
		}
	})
}
