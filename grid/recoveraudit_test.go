package grid_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid"
)

// TestRefusedRecoveryIsLoggedWithItsGrid: the audit line of a refused recovery names the grid of the
// directories, and no new grid.
func TestRefusedRecoveryIsLoggedWithItsGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loseGrid(t, 1)
		var log bytes.Buffer
		cfg := l.config([]string{"m1"}, nil)
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		if _, err := grid.Recover(cfg); !errors.Is(err, grid.ErrNotNeeded) {
			t.Fatalf("a recovery of a whole grid: %v", err)
		}
		if line := log.String(); !strings.Contains(line, l.old) || strings.Contains(line, "unknown grid") ||
			strings.Contains(line, " grid=") {
			t.Errorf("audit line %s, the grid is %s", line, l.old)
		}
		log.Reset()
		cfg.DataDirs = append(cfg.DataDirs, "/nowhere")
		if _, err := grid.Recover(cfg); err == nil || !strings.Contains(log.String(), l.old) {
			t.Errorf("with a directory that is missing: %v, audit line %s", err, log.String())
		}
	})
}
