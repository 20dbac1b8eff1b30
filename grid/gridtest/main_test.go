package gridtest_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

var secure = flag.Bool("secure", false, "give every grid certificates and a gossip key")

// TestMain runs the tests, and wants no goroutine left after them.
func TestMain(m *testing.M) {
	flag.Parse()
	if *secure {
		gridtest.SecureAll()
	}
	goleak.VerifyTestMain(m)
}
