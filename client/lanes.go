package client

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/grid/wire"
)

// A member lets one connection have a few calls at once. Go's client believes in a
// hundred until it hears otherwise, has the rest refused, and tries a call that was
// refused twice again after a second. So calls of which there may be many at a moment
// wait here instead.

// laneWidth is how many calls of one kind are under way to one member at once.
const laneWidth = wire.MaxCalls

// inLanes are the paths of such calls. Renewals are not among them: there is one to a
// member at a time, and it must not wait behind what a member is slow to decide.
var inLanes = map[string]bool{
	wire.PathCreate: true, wire.PathOpen: true, wire.PathAttach: true, wire.PathDetach: true, wire.PathDestroy: true,
	wire.PathReplicate: true,
}

// lanes are the calls that are under way or wait, by member and path. The zero value
// is ready.
type lanes struct {
	mu sync.Mutex
	of map[laneKey]*lane
}

type laneKey struct{ addr, path string }

type lane struct {
	slots chan struct{} // one in it for each call under way
	users int           // calls under way or waiting; without any the lane is forgotten
}

// enter waits for a call's turn; done ends the call. It fails if ctx ends before.
func (l *lanes) enter(ctx context.Context, addr, path string) (done func(), err error) {
	if !inLanes[path] {
		return func() {}, nil
	}
	key := laneKey{addr, path}
	a := l.use(key)
	select {
	case a.slots <- struct{}{}:
		return func() { <-a.slots; l.leave(key, a) }, nil
	case <-ctx.Done():
		l.leave(key, a)
		return nil, ctx.Err()
	}
}

func (l *lanes) use(key laneKey) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of[key]
	if a == nil {
		if l.of == nil {
			l.of = map[laneKey]*lane{}
		}
		a = &lane{slots: make(chan struct{}, laneWidth)}
		l.of[key] = a
	}
	a.users++
	return a
}

func (l *lanes) leave(key laneKey, a *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(l.of, key)
	}
}
