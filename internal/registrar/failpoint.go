//go:build failpoints

package registrar

import (
	"fmt"
	"os"
	"time"
)

// AtCrashPoint stops the process for good if the environment names the point, and says so.
func AtCrashPoint(p CrashPoint) {
	if os.Getenv("SNOWGRID_FAILPOINT") != string(p) {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint %s reached\n", p)
	time.Sleep(time.Hour) // until the test kills the process
}
