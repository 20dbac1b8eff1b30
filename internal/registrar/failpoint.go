//go:build failpoints

package registrar

import (
	"fmt"
	"os"
	"time"
)

// AtCrashPoint prints a message and blocks permanently if the environment names the point.
func AtCrashPoint(p CrashPoint) {
	if os.Getenv("SNOWGRID_FAILPOINT") != string(p) {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint %s reached\n", p)
	time.Sleep(time.Hour) // until the test kills the process
}
