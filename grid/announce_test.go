package grid_test

import (
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// TestAnnouncementsTakeTurns announces a member from several goroutines, and while it leaves. Memberlist
// reads its own entry without a lock, so the race detector reports two announcements at once.
func TestAnnouncementsTakeTurns(t *testing.T) {
	t.Parallel()
	m, err := grid.Start(testContext(t), alone(t))
	if err != nil {
		t.Fatal(err)
	}
	var announcing sync.WaitGroup
	for range 4 {
		announcing.Go(func() {
			for range 20 {
				m.Announce()
			}
		})
	}
	if err := m.Leave(testContext(t)); err != nil {
		t.Error(err)
	}
	announcing.Wait()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
