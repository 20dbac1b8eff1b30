package grid

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/signal"
	"github.com/snowgrid/snowgrid/wire"
)

// askOutEvery is how often a member whose disk has failed asks to be taken out.
const askOutEvery = 200 * time.Millisecond

// watchPart waits until this member's part in the grid ends, and then sees to it that
// other members take its place, until they have or ctx ends.
func (m *Member) watchPart(ctx context.Context) {
	diskFailed, rosterLost := m.raft.Failed()
	select {
	case <-diskFailed:
	case <-rosterLost:
	case <-ctx.Done():
		return
	}
	m.stepDown()
	alone := false
	for ctx.Err() == nil {
		switch {
		case !m.lone && m.othersStay():
			if err := m.askOut(ctx); err == nil {
				m.log.Warn("other members have replaced this one; own handles continue", "reason", m.raft.Failure())
				return
			}
		case !alone:
			alone = true
			m.log.Error("no member can take over: holders wait after the end of their grants", "reason", m.raft.Failure())
		}
		signal.Sleep(ctx, askOutEvery)
	}
}

// stepDown ends this member's part in the agreement, and says why.
func (m *Member) stepDown() {
	err := m.raft.Failure()
	var failed *raftlog.DiskError
	if errors.As(err, &failed) {
		m.log.Error("the disk has failed: this member writes and votes no longer", "advice", raftlog.DiskAdvice,
			"dir", failed.Dir, "while", failed.Doing, "error", failed.Cause)
	} else {
		m.log.Error("roster lost: this member cannot read it, grants by it no longer and votes no longer", "advice", raftlog.DivergenceAdvice, "error", err)
	}
	m.state.Fail(err)
	m.state.Leave()
	if m.gossip != nil {
		m.life.Background(func(context.Context) { m.gossip.Announce() })
	}
	if node := m.raft.Node(); node != nil {
		ending := node.Raft.Shutdown()
		m.life.Background(func(context.Context) { _ = ending.Error() })
	}
}

// askOut asks the leader to take this member out, and returns when that is
// agreed. From here on it grants nothing: it no longer receives changes of owners.
// Before it reaches a leader it grants below the ceiling that it knows, like
// a member that is cut off, so that the last one can still take nodes back.
func (m *Member) askOut(ctx context.Context) error {
	m.state.Ended.Store(true)
	server := raftlog.ServerID(m.self, m.cfg.DataDir != "")
	return m.formation.AtLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: m.self, Server: string(server), Failed: true})
}
