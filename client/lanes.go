package client

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/wire"
)

// A member lets one connection have a few calls at once. Go's client believes in a
// hundred until it hears otherwise, has the rest refused, and tries a call that was
// refused twice again after a second. So calls of which there may be many at a moment
// wait here instead, and have connections of their own: some wait at the member for
// other members, and a renewal must never wait for those, nor what they wait for.

// laneWidth is how many such calls are in progress at once on one connection to a member.
const laneWidth = wire.MaxCalls

// line is one of a process's connections to a member, each by a transport of its own.
type line int

const (
	vital       line = iota // renewals, the directory, events, and what else is seldom
	decided                 // what a member may be slow to decide
	overflow                // the same, when the other is full
	replication             // what decisions wait for
	lines
)

// laneOf is the first line of calls that wait for their turn. Renewals are not among them:
// there is one to a member at a time, and it must not wait behind what a member is slow to
// decide.
var laneOf = map[string]line{
	wire.PathCreate: decided, wire.PathOpen: decided, wire.PathAttach: decided, wire.PathDetach: decided, wire.PathDestroy: decided,
	wire.PathReplicate: replication,
}

// limiter lets a number of calls be in progress at once by each key; the others wait. Its
// zero value is ready.
type limiter struct {
	mu sync.Mutex
	of map[limitKey]*lane
}

// limitKey is what a limiter counts by.
type limitKey struct {
	addr  string
	first line
}

// lane is the calls of one key.
type lane struct {
	slots [2]chan struct{} // one in it for each call in progress, by line from the first on
	users int              // calls in progress or waiting; without any the lane is forgotten
}

// enter waits for a call's turn, on one of two lines of width calls, or on one line if there
// is no second. It prefers the first, so that most processes never need the second. done
// ends the call. It fails if ctx ends before.
func (l *limiter) enter(ctx context.Context, key limitKey, width int, second bool) (on line, done func(), err error) {
	a := l.use(key, width, second)
	end := func(i line) func() { return func() { <-a.slots[i]; l.leave(key, a) } }
	select {
	case a.slots[0] <- struct{}{}:
		return key.first, end(0), nil
	default:
	}
	select {
	case a.slots[0] <- struct{}{}:
		return key.first, end(0), nil
	case a.slots[1] <- struct{}{}:
		return key.first + 1, end(1), nil
	case <-ctx.Done():
		l.leave(key, a)
		return 0, nil, ctx.Err()
	}
}

func (l *limiter) use(key limitKey, width int, second bool) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of[key]
	if a == nil {
		if l.of == nil {
			l.of = map[limitKey]*lane{}
		}
		a = &lane{slots: [2]chan struct{}{make(chan struct{}, width)}}
		if second {
			a.slots[1] = make(chan struct{}, width)
		}
		l.of[key] = a
	}
	a.users++
	return a
}

func (l *limiter) leave(key limitKey, a *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(l.of, key)
	}
}
