package grid

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// sayGoodbye takes the member out of the roster, if there is anybody else in it.
func (m *Member) sayGoodbye(ctx context.Context) error {
	m.mu.Lock()
	m.leaves[m.self] = true
	m.mu.Unlock()
	for {
		r := m.roster.Load()
		_, in := r.Member(m.self)
		if !in || len(r.Members) == 1 {
			return m.gossip.list.Leave(gossipTimeout)
		}
		var err error
		if node := m.node(); node.leads() {
			err = node.raft.LeadershipTransfer().Error() // needs another voter, which the leader's loop makes
		} else {
			err = m.atLeader(ctx, wire.PathLeave, wire.LeaveRequest{Incarnation: m.self, Server: string(node.server)})
			if err == nil {
				return m.gossip.list.Leave(gossipTimeout)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("grid: %w: left without a goodbye: %w; last: %v", sequencer.ErrUnavailable, ctx.Err(), err)
		case <-time.After(leaveEvery):
		}
	}
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
