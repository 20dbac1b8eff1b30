package grid

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A grid that starts with nothing stored assumes that clocks were not stepped
// back by more than a margin since an earlier life. A holder that comes from an
// earlier life and shows a grant beyond the floor proves the assumption wrong. It
// is not served, nor is anybody else, before the floors lie above that grant.

// earlierLimit bounds how far ahead of cluster time a shown grant is believed,
// beyond the largest window: a lie could otherwise end the grid's time.
const earlierLimit = 24 * time.Hour

// checkEarlier refuses a claim from another life of the grid whose grant reaches
// beyond this partition's floor, and has the leader raise the floors.
func (o *actor) checkEarlier(r *partition.Roster, b sequencer.Bounds, in wire.Claim) error {
	if in.Grid == r.Grid || in.Until <= r.Partitions[o.id].Floor {
		return nil
	}
	if b.Now == 0 {
		return errNoTime // what is believable is not known yet
	}
	if limit := b.Now + partition.MaxWindow + earlierLimit.Milliseconds(); in.Until > limit {
		return fmt.Errorf("%w: a grant that ends at %s is not believed; restart this holder",
			sequencer.ErrInvalidConfig, time.UnixMilli(in.Until).UTC().Format(time.RFC3339))
	}
	o.m.reportEarlier(in.Until)
	return fmt.Errorf("%w: an earlier life of the grid granted beyond the floor; the floors are being raised", sequencer.ErrUnavailable)
}

// reportEarlier tells the leader of a grant of an earlier life. It is told again
// with every try of the holder's, until the floors are raised.
func (m *Member) reportEarlier(until partition.Tick) {
	if m.noteEarlier(until) || m.lone {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.telling {
		return
	}
	m.telling = true
	m.done.Go(func() {
		if err := m.atLeader(m.ctx, wire.PathEarlier, wire.EarlierRequest{Until: until}); err != nil {
			m.log.Warn("the leader was not told of an earlier life's grant yet", "error", err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.telling = false
	})
}

// noteEarlier has this member's next step as leader raise the floors; false if it
// does not lead.
func (m *Member) noteEarlier(until partition.Tick) bool {
	if !m.node().leads() {
		return false
	}
	for {
		have := m.earlier.Load()
		if until <= have {
			return true
		}
		if m.earlier.CompareAndSwap(have, until) {
			m.log.Error("a holder shows a grant of an earlier life of the grid beyond the floor: clocks were stepped back since; raising all floors",
				"until", time.UnixMilli(until).UTC())
			return true
		}
	}
}

// serveEarlier notes a grant that another member was shown.
func (m *Member) serveEarlier(_ context.Context, in wire.EarlierRequest) (wire.MemberResponse, error) {
	if limit := m.clock.Now() + 2*earlierLimit.Milliseconds(); in.Until > limit {
		return wire.MemberResponse{}, invalid("until %d is not believed", in.Until)
	}
	if !m.noteEarlier(in.Until) {
		return wire.MemberResponse{}, errNotLeader
	}
	return wire.MemberResponse{Version: m.roster.Load().Version}, nil
}
