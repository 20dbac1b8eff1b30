//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// TestImportAwaitsReadiness: an import into a grid that is not ready for a moment continues, and ends with the
// reason if the grid stays so for the time of a call.
func TestImportAwaitsReadiness(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "saved")
	writeExport(t, file)
	for readyAt, want := range map[int64]string{
		3:       "the export is of this grid", // the check after
		1 << 60: "grid shop is not ready: no leader",
	} {
		addr := answering(t, func(n int64) grid.Status {
			return grid.Status{Name: "shop", Grid: "01", Version: 1, Ready: n >= readyAt, NotReady: "no leader"}
		})
		status, _, stderr := runCommand(t, "import", file, "--timeout", "5s", "--addr", addr)
		if status != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("ready at the %dth query: status %d, %s", readyAt, status, stderr)
		}
	}
}
