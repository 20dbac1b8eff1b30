package gridtest_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// lockedBuffer is a log for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), part)
}

// TestTimeAheadOfTheClocks: cluster time never goes back, so that it stays ahead of
// clocks that were put right. Status and log say by how much: a grid without disks
// that starts again meanwhile would begin below it.
func TestTimeAheadOfTheClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Logger: slog.New(slog.NewTextHandler(log, nil))})
		time.Sleep(30 * time.Second)
		const told = `level=WARN msg="cluster time ahead of the clocks"`
		if n := log.count(told); n > 0 {
			t.Errorf("told %d times of clocks that are right", n)
		}
		for _, name := range g.Running() {
			g.StepClock(name, -5*time.Minute)
		}
		time.Sleep(150 * time.Second)
		for _, name := range g.Running() {
			s := g.Member(name).Status()
			if ahead := s.ClusterTime.Sub(s.Wall); ahead < 4*time.Minute+50*time.Second || ahead > 5*time.Minute+time.Second {
				t.Errorf("%s: cluster time %v, its clock %v", name, s.ClusterTime, s.Wall)
			}
		}
		if n := log.count(told); n < 2 || n > 4 {
			t.Errorf("told %d times in two and a half minutes", n)
		}
	})
}
