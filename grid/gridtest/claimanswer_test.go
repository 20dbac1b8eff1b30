package gridtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
)

// takingStore calls a function once, when the grid takes the anchor's record under another claim.
type takingStore struct {
	*anchorStore
	claim  string
	taken  func()
	called atomic.Bool
}

// Swap implements store.Store.
func (s *takingStore) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	revision, err := s.anchorStore.Swap(ctx, e)
	var record struct{ Claim string }
	taken := s.taken != nil && err == nil && json.Unmarshal(e.Body, &record) == nil && record.Claim != s.claim &&
		!bytes.Contains(e.Body, []byte(foreignClaim))
	if taken && !s.called.Swap(true) {
		s.taken()
	}
	return revision, err
}

// TestLostAnswerAboutAClaim: a learner gets the next claim, and its answer is lost. The leader reaches it under that
// claim, and does not remove it.
func TestLostAnswerAboutAClaim(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, lines := &takingStore{anchorStore: newAnchorStore()}, &auditLog{}
		g := startMany(t, gridtest.Config{Logger: slog.New(slog.NewJSONHandler(lines, nil)),
			Change: func(_ string, c *grid.Config) { c.Anchor, c.Partitions = s, 3 }})
		lead, learner := g.Leader(), learners(g)[0]
		time.Sleep(10 * time.Second)
		s.claim, s.taken = anchorOf(g).Claim, func() { g.Network.CutOneWay(learner, lead) }
		takeElsewhere(t, s)
		eventually(t, 3*time.Minute, "the record is taken again", s.called.Load)
		time.Sleep(1500 * time.Millisecond) // the leader waits for an answer for a second
		g.Network.HealAll()
		awaitReady(t, g, time.Minute)
		time.Sleep(10 * time.Second) // a silent member is removed after 8 s
		for _, line := range lines.of(t, "remove") {
			t.Errorf("removed: %+v", line)
		}
	})
}
