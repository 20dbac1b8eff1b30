package calls

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and wants no goroutine left after them.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
