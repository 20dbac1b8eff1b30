package grid

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// reformEvery is the interval at which a member without a quorum reads the anchor's record.
const reformEvery = 2 * time.Second

// reformTurn is how much longer a survivor waits for each one before it, which may not reach the
// anchor: longer than the formation of a grid takes.
const reformTurn = 10 * time.Second

// reform waits for the loss of a majority that stored nothing on disk, and has the survivors form a
// grid, until ctx ends. A leader that no survivor reaches would still extend the anchor's record.
// So the grid is over once the record was not extended for one and a half times the distance at
// which it is kept (A7); grants of the next begin above it.
func (m *Member) reform(ctx context.Context) {
	ticker := time.NewTicker(reformEvery)
	defer ticker.Stop()
	var silence anchor.Silence
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !m.lostForGood() {
			silence = anchor.Silence{}
			continue
		}
		seen, err := m.anchorage.do(ctx, anchor.Step{Read: true}).Result()
		if err != nil {
			silence.Failed()
			continue
		}
		silence.Answered(seen.Revision, m.clock.Mono())
		patience := anchor.New(m.self, m.cfg.AnchorAhead).Patience(m.formation.LastWindow(), seen.Record)
		if silence.For(m.clock.Mono()) < patience+time.Duration(m.formation.SurvivorsBefore())*reformTurn {
			continue
		}
		m.log.Warn("the majority is lost and the anchor was not extended since; the survivors form a new grid", "for",
			silence.For(m.clock.Mono()))
		if err := m.formation.Reform(ctx); err != nil {
			m.log.Warn("new grid not formed yet", "error", err)
		}
		silence = anchor.Silence{}
	}
}

// lostForGood reports whether the majority of an anchored grid's voters is lost and had
// stored nothing on disk, or whether no other member forms the next grid.
func (m *Member) lostForGood() bool {
	switch {
	case m.state.Leaving() || !m.formation.HeldAnchor():
		return false
	case m.formation.Deserted():
		return true
	case m.health.warning() == "":
		return false
	}
	q := m.health.quorum()
	return q.Voters() > 0 && !q.Majority() && !q.Restorable()
}

// leftOf returns for how long holders have grants.
func leftOf(r *roster.Roster, now clustertime.Tick) time.Duration {
	if now == 0 || r.Ceiling <= now {
		return 0
	}
	return r.Ceiling.Sub(now).Duration()
}

// anchorWait returns the reason why a member of a grid without its anchor does not serve, as the
// end of a sentence. Only the leader has read the record; the others state how long it may wait.
func (h *health) anchorWait() string {
	s, leads := h.anchorage.now()
	r := h.state.Roster()
	switch {
	case !leads && h.anchorage.configured() && r.Claim != "":
		return fmt.Sprintf("; its leader may wait %v for the anchor, and a restart begins that wait again",
			anchor.New(h.self, h.anchorage.ahead).Patience(r.Settings.Window, s.Record))
	case !leads || s.State == anchor.Held:
		return ""
	case s.State == leader.Unanchored:
		return "; " + anchorAdvice(s.State)
	case s.Err != nil:
		return "; the anchor: " + s.Err.Error()
	case s.Record.Holder != "":
		return "; the anchor is held by grid " + s.Record.Grid.String() + " (" + string(s.Record.Holder) + "): " +
			anchorAdvice(s.State)
	}
	return "; the anchor: " + string(s.State)
}
