package grid

import (
	"context"
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
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
		err = errors.Join(err, m.departure.sayGoodbye(ctx))
	} else if m.anchorage.configured() {
		m.departure.stopInOrder(ctx)
	}
	return errors.Join(err, m.Close())
}

// Close ends the member immediately, without a message to the others, which detect it
// within seconds. Handles return sequencer.ErrClosed from then on. It is safe, and
// closing twice does nothing the second time.
func (m *Member) Close() error {
	var err error
	m.once.Do(func() { err = m.shut() })
	return err
}

// Done is closed when the member has ended: by Leave or Close, or because that was asked of
// its API (POST /membership/unsubscribe, or with Debug /membership/debug/shutdown).
func (m *Member) Done() <-chan struct{} { return m.ended }

func (m *Member) shut() error {
	defer close(m.ended)
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
	m.identity.close()
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
