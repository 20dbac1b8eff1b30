package gridtest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestStartBesideALostMajority: a member without a data directory that starts beside a grid that has lost its majority
// names no file.
func TestStartBesideALostMajority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		g.Crash("m2", "m3")
		err := g.TryMember(within(t, 20*time.Second), "m2")
		if err == nil || strings.Contains(err.Error(), "raft.db") {
			t.Errorf("%v", err)
		}
	})
}
