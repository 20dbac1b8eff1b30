package store

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/internal/record"
)

// readyEvery is the interval at which a seat reads the other records after its predecessor crashed.
const readyEvery = 5 * time.Second

// becomeReady marks a seat as ready when every other holder's record has its version, or after
// Config.ReadyTimeout (Z16 to Z18).
func (s *seat) becomeReady(ctx context.Context) {
	c := s.h.client
	s.mu.Lock()
	version, ready := s.machine.Record().Version, s.ready
	s.mu.Unlock()
	for began := c.clock.Mono(); !ready; {
		left := began + c.cfg.ReadyTimeout - c.clock.Mono()
		ready = left <= 0 || c.allKnow(ctx, s, version)
		if !ready && !s.rest(ctx, min(readyEvery, left)) {
			return
		}
	}
	s.mu.Lock()
	s.ready = true
	s.mu.Unlock()
}

// rest waits for d. false: the seat was stopped, or ctx has ended.
func (s *seat) rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.gone:
	case <-ctx.Done():
	}
	return false
}

// allKnow reports whether every other record with a holder has the seat's version. An unreadable
// record does not.
func (rs *recordStore) allKnow(ctx context.Context, s *seat, version uint64) bool {
	m, _, err := rs.marker(ctx, s.h.name())
	if err != nil {
		return false
	}
	all, err := rs.all(ctx, s.h.ref.Definition, m.Slots)
	if err != nil {
		return false
	}
	for _, f := range all {
		if f.Node == s.node || f.err == nil && f.Record.State != record.Held {
			continue
		}
		if f.err != nil || f.Record.Known[s.node] != version {
			return false
		}
	}
	return true
}
