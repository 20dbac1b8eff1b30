package sim_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often: runs allocate much and retain little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
