package sim_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage wait: runs make much of it and live on little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
