package grid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
	"github.com/snowgrid/snowgrid/wire"
)

const leaveEvery = 50 * time.Millisecond

// Leave gives this member's logical nodes back, hands its tables to others, and
// closes it. Handles return sequencer.ErrClosed from then on; holders elsewhere
// notice nothing. It takes seconds: each table is copied to another member before
// this one lets go of it. When ctx ends first the member is closed as by Close,
// which is safe, and the error matches ctx.Err().
//
// The last leaving member of a durable grid records the end of the grants if nothing is
// attached any longer: the grid then restarts without a wait.
func (m *Member) Leave(ctx context.Context) error {
	if m.ctx.Err() != nil {
		return refusal.ErrClosed
	}
	err := m.handles.Leave(ctx)
	err = errors.Join(err, m.ids.Leave(ctx))
	if !m.lone {
		err = errors.Join(err, m.sayGoodbye(ctx))
	}
	return errors.Join(err, m.Close())
}

// sayGoodbye removes the member from the roster, unless no other member can take over: then
// the grid stops, and a durable one continues from there at its next start.
func (m *Member) sayGoodbye(ctx context.Context) error {
	m.state.Leave()
	m.gossip.Announce()
	for {
		var err error
		if !m.othersStay() {
			m.stopInOrder(ctx)
			m.awaitStop(ctx.Done())
			m.gossip.Leave()
			return nil
		}
		if node := m.raft.Node(); node.Leads() {
			err = errLeadKept // its step passes the lead on
		} else {
			err = m.formation.AtLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: m.self, Server: string(node.Server)})
			if err == nil { // agreed; the log may no longer reach this member
				m.gossip.Leave()
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("grid: %w: left without a goodbye: %w", sequencer.ErrUnavailable, ctx.Err()), err)
		case <-time.After(leaveEvery):
		}
	}
}

// errLeadKept is why a leader that leaves is still there.
var errLeadKept = errors.New("no other voter has taken the lead yet")

// stopInOrder records the end of the grants in the roster, if this member is the last of a
// durable grid and no grant can be used any longer (S1). Without it the grid restarts at its
// ceiling, which is safe and costs a wait.
func (m *Member) stopInOrder(ctx context.Context) {
	r := m.state.Roster()
	if node := m.raft.Node(); m.cfg.DataDir == "" || !node.Leads() || len(r.Members) != 1 || !r.Assigned() {
		return
	}
	m.state.Ended.Store(true) // no actor grants anything from its next request on
	var stop clustertime.Tick
	for id := range r.Partitions {
		high, err := m.host.Granted(ctx, roster.PartitionID(id))
		if err != nil {
			m.log.Info("the grid will start again at its ceiling", "reason", err)
			return
		}
		stop = max(stop, high)
	}
	err := m.raft.Propose(roster.Command{From: r.Version, Change: &roster.Change{Stop: max(1, stop)}})
	m.log.Info("the grid has stopped in order", "granted_until", stop.Time(), "error", err)
}

// othersStay reports whether another member is alive that does not leave.
func (m *Member) othersStay() bool {
	r := m.state.Roster()
	_, found := m.gossip.Find(func(p gossip.Peer) bool {
		_, in := r.Member(p.Incarnation)
		return in && p.Incarnation != m.self && !p.Leaving
	})
	return found
}

// stopAwaited is how long a voter that leaves with all others waits for the leader to
// record the stop.
const stopAwaited = 5 * time.Second

// awaitStop waits, when all members leave, for the leader to record the stop: this
// member's vote may be needed for it.
func (m *Member) awaitStop(done <-chan struct{}) {
	limit := time.After(stopAwaited)
	for {
		node := m.raft.Node()
		if m.cfg.DataDir == "" || node == nil || node.Leads() || m.state.Roster().Stopped > 0 {
			return
		}
		leads := func(p gossip.Peer) bool { return string(raftlog.ServerID(p.Incarnation, p.Durable)) == node.Leader() }
		if _, alive := m.gossip.Find(leads); !alive {
			return
		}
		select {
		case <-time.After(leaveEvery):
		case <-limit:
			return
		case <-done:
			return
		}
	}
}

// Close ends the member immediately, without a message to the others, which detect it
// within seconds. Handles return sequencer.ErrClosed from then on. It is safe, and
// closing twice does nothing the second time.
func (m *Member) Close() error {
	var err error
	m.once.Do(func() { err = m.shut() })
	return err
}

func (m *Member) shut() error {
	m.life.Close()
	if m.handles != nil {
		_ = m.handles.Close()
	}
	m.ids.Close()
	m.life.Stop()
	m.state.Notify()
	var failed []error
	if m.api != nil {
		failed = append(failed, m.api.Close())
	}
	if m.raft != nil {
		failed = append(failed, m.raft.Close())
	}
	if m.gossip != nil {
		failed = append(failed, m.gossip.Close())
	}
	if m.listeners != nil {
		m.listeners.close()
	}
	m.life.Wait()
	if m.definitions != nil {
		failed = append(failed, m.definitions.Close())
	}
	if m.stores.Close != nil {
		failed = append(failed, m.stores.Close())
	}
	if m.http != nil {
		m.http.Close()
	}
	return errors.Join(failed...)
}
