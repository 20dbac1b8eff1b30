package gridtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestNextNamesWhyRenewalsFail: when the grants of a client have ended because its member is gone, the error
// of Next has the error of the last renewal.
func TestNextNamesWhyRenewalsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true})
		s := create(t, g.Client("web"), "orders", 0)
		_, err := s.Next(within(t, time.Minute))
		ok(t, "next", err)
		g.Crash("m1")
		time.Sleep(40 * time.Second)
		_, err = s.Next(within(t, 2*time.Second))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("next while no member runs: %v", err)
		}
		g.StartMembers("m1")
		_, err = s.Next(within(t, 2*time.Minute))
		ok(t, "next after the start", err)
	})
}
