package grid_test

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/snowgrid/snowgrid/internal/long"
)

// TestMain runs the tests, and wants no goroutine left after them but two that end by themselves: a probe of
// memberlist's in progress, some seconds after its Shutdown, and a connection of net/http's whose caller was refused,
// half a second after the answer.
func TestMain(m *testing.M) {
	flag.Parse()
	long.Parallel(map[bool]int{false: 10, true: 6}[raceDetector]) // most tests wait
	long.InMemory()
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
