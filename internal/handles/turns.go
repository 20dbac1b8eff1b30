package handles

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// turns serialize the creates, opens and forgets for each name.
type turns struct {
	mu     sync.Mutex // never held while waiting
	byName map[string]*turn
}

// turn is one name's turn, while a caller has it or waits for it.
type turn struct {
	token chan struct{}
	users int
}

// take waits for a name's turn. The caller must call give at its end. If the turn is free, ctx is
// ignored.
//
// Errors: when ctx ends, an error that matches ctx.Err() and sequencer.ErrUnavailable.
func (t *turns) take(ctx context.Context, name string) (give func(), err error) {
	t.mu.Lock()
	mine := t.byName[name]
	if mine == nil {
		mine = &turn{token: make(chan struct{}, 1)}
		t.byName[name] = mine
	}
	mine.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.byName, name)
		}
	}
	give = func() { <-mine.token; leave() }
	select {
	case mine.token <- struct{}{}: // Also if ctx has ended.
		return give, nil
	default:
	}
	select {
	case mine.token <- struct{}{}:
		return give, nil
	case <-ctx.Done():
		leave()
		return nil, failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: another call is creating it: %w", name, ctx.Err())
	}
}
