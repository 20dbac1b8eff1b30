package grid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

const leaveEvery = 50 * time.Millisecond

// Leave gives this member's logical nodes back, hands its tables to others, and
// closes it. Handles return sequencer.ErrClosed from then on; holders elsewhere
// notice nothing. It takes seconds: each table is copied to another member before
// this one lets go of it. When ctx ends first the member is closed as by Close,
// which is safe, and the error matches ctx.Err().
//
// Without a majority nothing can be handed over. Then Leave ends by itself when the grants have
// ended, at most a window after the last agreement, with an error that matches
// sequencer.ErrUnavailable. A voter that the others need for a majority, because another voter is
// silent, is held back for 10 s. A context with a deadline bounds Leave in any case.
//
// A call while another one is in progress, and one after it, waits for that and returns its result.
// If Close ends it, or came before it, the error matches sequencer.ErrClosed.
//
// The last member of a durable grid to leave records the end of the grants if nothing is attached any
// longer: the grid then restarts without a wait. If all leave together, that is the leader, and the others
// hand over to it; it waits for them for 5 s.
func (m *Member) Leave(ctx context.Context) error {
	l, first := m.end.leave(m.ctx.Err() == nil)
	switch {
	case l == nil:
		return refusal.ErrClosed
	case first:
		defer close(l.done)
		defer context.AfterFunc(ctx, m.end.hurry)()
		l.err = leave(ctx, m)
		return l.err
	}
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		m.end.hurry()
		return errors.Join(failure.Errorf(sequencer.ErrUnavailable, "grid: leave: not complete: %w", ctx.Err()),
			m.Close()) // it ends the other call
	}
}

// leave leaves the grid and closes the member.
func leave(ctx context.Context, m *Member) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	m.health.leaving.Store(true)
	ids := make(chan error, 1)
	go func() { ids <- m.ids.Leave(ctx) }()
	err := errors.Join(m.handles.Leave(ctx), <-ids)
	switch {
	case !m.lone:
		err = errors.Join(err, m.departure.sayGoodbye(ctx))
	case m.anchorage.configured():
		m.departure.stopInOrder(ctx)
	}
	if m.ctx.Err() != nil {
		return refusal.ErrClosed
	}
	if m.end.closing.CompareAndSwap(false, true) {
		return errors.Join(err, m.shut())
	}
	return errors.Join(err, m.Close())
}

// ending is a member's end: one Leave call leaves, and one Close call closes, however many
// goroutines call them.
type ending struct {
	closing atomic.Bool   // Close was called
	closed  chan struct{} // closed when Close has done everything

	// patience ends with the context of any Leave call: Close waits no longer for a disk that hangs.
	patience context.Context
	hurry    context.CancelFunc

	mu     sync.Mutex // guards leaves; never held while waiting
	leaves *leaving   // nil before the first Leave call
}

type leaving struct {
	done chan struct{}
	err  error // valid once done is closed
}

func newEnding() *ending {
	e := &ending{closed: make(chan struct{})}
	e.patience, e.hurry = context.WithCancel(context.Background())
	return e
}

// leave returns the call of Leave that leaves, and whether it is this one; nil if there is none, and
// the member is not open.
func (e *ending) leave(open bool) (l *leaving, first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first = e.leaves == nil && open; first {
		e.leaves = &leaving{done: make(chan struct{})}
	}
	return e.leaves, first
}

// Close ends the member immediately, without a message to the others, which detect it
// within seconds. Handles return sequencer.ErrClosed from then on. It is safe, and ends a Leave
// in progress. Closing twice does nothing the second time but wait for the first.
//
// It waits at most 5 s for a disk that hangs. The error matches sequencer.ErrUnavailable then, and the data
// directory is locked until the disk answers or the process ends.
func (m *Member) Close() error {
	if !m.end.closing.CompareAndSwap(false, true) {
		<-m.end.closed
		return nil
	}
	return m.shut()
}

// Done is closed when the member has ended: by Leave or Close, or by a request to its API (POST
// /membership/unsubscribe, or with Debug /membership/debug/shutdown).
func (m *Member) Done() <-chan struct{} { return m.end.closed }

// shut is the first Close. If a disk hangs it returns when the context of a Leave ends, or after diskLimit.
func (m *Member) shut() error {
	defer close(m.end.closed)
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
	disks, cancel := newDiskWait(m.end.patience, m.cfg.DataDir)
	defer cancel()
	if m.raft != nil {
		failed = append(failed, disks.wait(m.raft.Close))
	}
	if m.gossip != nil {
		failed = append(failed, m.gossip.Close())
	}
	if m.listeners != nil {
		m.listeners.close()
	}
	failed = append(failed, disks.wait(func() error { return closeDataDir(m) }))
	if m.http != nil {
		m.http.Close()
	}
	return errors.Join(failed...)
}
