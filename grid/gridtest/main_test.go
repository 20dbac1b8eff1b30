package gridtest_test

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

var secure = flag.Bool("secure", false, "give every grid certificates and a gossip key")

// TestMain runs the tests, and wants no goroutine left after them.
func TestMain(m *testing.M) {
	flag.Parse()
	if !long.InMemory() {
		long.Parallel(4) // members in bubbles wait for their disks
	}
	debug.SetGCPercent(400)
	gridtest.Divide(long.Or(31, 0))
	if *secure {
		gridtest.SecureAll()
	}
	goleak.VerifyTestMain(m)
}
