package grid

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

const leaveEvery = 50 * time.Millisecond

// Leave gives this member's logical nodes back, hands its partitions to others,
// and closes it. Handles return sequencer.ErrClosed from then on. In this version
// the new owners begin with empty tables: holders of those partitions wait once,
// about 8 s at the defaults. When ctx ends first the member is closed without
// having said goodbye, which is safe, and the error matches ctx.Err().
func (m *Member) Leave(ctx context.Context) error {
	if m.ctx.Err() != nil {
		return errClosed
	}
	err := m.handles.Leave(ctx)
	if c := m.idsClient(); c != nil {
		err = errors.Join(err, c.Leave(ctx))
	}
	if !m.lone {
		err = errors.Join(err, m.sayGoodbye(ctx))
	}
	return errors.Join(err, m.Close())
}

// sayGoodbye takes the member out of the roster, unless nobody stays who could
// take over: then the grid stops, and a durable one goes on where it was.
func (m *Member) sayGoodbye(ctx context.Context) error {
	m.mu.Lock()
	m.leaves[m.self] = true
	m.mu.Unlock()
	m.gossip.announce()
	for {
		var err error
		if !m.othersStay() {
			m.gossip.goodbye()
			return nil
		}
		if node := m.node(); node.leads() {
			err = m.passLead(node)
		} else {
			err = m.atLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: m.self, Server: string(node.server)})
			if err == nil { // agreed; this member may not hear of it by the log any more
				m.gossip.goodbye()
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

// othersStay reports whether another member is alive that does not leave.
func (m *Member) othersStay() bool {
	r := m.roster.Load()
	_, found := m.gossip.find(func(p peer) bool {
		_, in := r.Member(p.Incarnation)
		return in && p.Incarnation != m.self && !p.Leaving
	})
	return found
}

// passLead makes a voter that stays the leader. There is one soon if there is
// none yet: the leader's own loop sees to it.
func (m *Member) passLead(node *raftNode) error {
	future := node.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return err
	}
	for _, s := range future.Configuration().Servers {
		stays := func(p peer) bool { return serverID(p.Incarnation, p.Durable) == s.ID && !p.Leaving }
		if _, found := m.gossip.find(stays); found && s.Suffrage == raft.Voter && s.ID != node.server {
			return node.raft.LeadershipTransferToServer(s.ID, s.Address).Error()
		}
	}
	return errors.New("no other voter stays yet")
}

// Close ends the member at once, without a word to the others, who notice within
// seconds. Handles return sequencer.ErrClosed from then on. It is safe, and
// closing twice does nothing the second time.
func (m *Member) Close() error {
	var err error
	m.once.Do(func() { err = m.shut() })
	return err
}

func (m *Member) shut() error {
	m.mu.Lock()
	m.closed = true
	node, ids := m.raft, m.ids
	m.mu.Unlock()
	for _, c := range []*client.Client{m.handles, ids} {
		if c != nil {
			_ = c.Close()
		}
	}
	m.stop()
	m.changed.send()
	var failed []error
	if m.api != nil {
		failed = append(failed, m.api.Close())
	}
	if node != nil {
		failed = append(failed, node.raft.Shutdown().Error())
	}
	if m.gossip != nil {
		failed = append(failed, m.gossip.list.Shutdown())
	}
	if m.listeners != nil {
		m.listeners.close()
	}
	m.done.Wait()
	if m.stores.close != nil {
		failed = append(failed, m.stores.close())
	}
	if m.http != nil {
		m.http.Close()
	}
	return errors.Join(failed...)
}
