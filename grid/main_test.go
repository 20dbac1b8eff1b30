package grid_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and wants no goroutine left after them but a probe of memberlist's that
// was in progress: it ends by itself, some seconds later, and Shutdown does not wait for it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}
