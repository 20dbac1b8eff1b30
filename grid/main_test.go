package grid_test

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestMain runs the tests, and wants no goroutine left after them but a probe of memberlist's that
// was in progress: it ends by itself, some seconds later, and Shutdown does not wait for it.
func TestMain(m *testing.M) {
	flag.Parse()
	long.Parallel(map[bool]int{false: 10, true: 6}[raceDetector]) // most tests wait
	long.InMemory()
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}
