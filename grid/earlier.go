package grid

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/wire"
)

// A holder of an earlier life of the grid that was granted beyond the floor is not
// served by the owner (package partition), which has the leader raise all floors (S2).

// reportEarlier tells the leader of a grant of an earlier life. It is told again
// with every try of the holder's, until the floors are raised.
func (m *Member) reportEarlier(until clustertime.Tick) {
	if m.noteEarlier(until) || m.lone {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life.Closed() || m.telling {
		return
	}
	m.telling = true
	m.life.Go(func() {
		if err := m.formation.AtLeader(m.ctx, wire.PathEarlier, wire.EarlierRequest{Until: until}); err != nil {
			m.log.Warn("the leader was not told of an earlier life's grant yet", "error", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.telling = false
	})
}

// noteEarlier has the leader raise the floors, if this member leads; false otherwise.
func (m *Member) noteEarlier(until clustertime.Tick) bool {
	l := m.lead.Load()
	return l != nil && l.node.Leads() && l.do(func(machine *leader.Leader, _ leader.View) {
		if machine.ShowEarlier(until) {
			m.log.Error("a holder shows a grant of an earlier life of the grid beyond the floor: clocks were stepped back since; raising all floors",
				"until", until.Time())
		}
	})
}

// clockSpread is how far the cluster times of two members are apart at most, as far as
// this matters.
const clockSpread = time.Second

// serveEarlier notes a grant that another member was shown.
func (m *Member) serveEarlier(_ context.Context, in wire.EarlierRequest) (wire.MemberResponse, error) {
	limit := partition.EarlierBound(m.state.Roster(), m.clock.Now())
	if limit > 0 {
		limit = limit.Add(clustertime.SpanOf(clockSpread))
	}
	if in.Until > limit {
		return wire.MemberResponse{}, failure.Errorf(wire.ErrBadRequest, "grid: a grant of an earlier grid that ends at %d ms cannot exist; the latest possible end is %d ms", in.Until, limit)
	}
	if !m.noteEarlier(in.Until) {
		return wire.MemberResponse{}, refusal.ErrNotLeader
	}
	return wire.MemberResponse{Version: m.state.Roster().Version}, nil
}
