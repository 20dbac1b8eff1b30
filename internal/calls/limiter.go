package calls

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// A member serves a few calls per connection concurrently. Go's client assumes a hundred until the
// member announces its limit, has the rest refused, and retries a call that was refused twice after
// a second. Frequent calls therefore wait here, and have their own connections: some of them wait
// at the member for other members, and neither a renewal nor replication may wait behind them.

const (
	// connectionCalls bounds the calls in progress on one connection over HTTP to a member.
	connectionCalls = wire.MaxCalls
	// framedCalls bounds the calls of each line while the connection is framed; all lines then
	// share it: together with replication and calls between members they stay below
	// frames.StreamsMax.
	framedCalls = 12
)

// line is one of a process's connections to a member; each has its own transport.
type line int

const (
	vital       line = iota // renewals, the directory, events, and other calls that are rare
	decided                 // calls that a member may be slow to decide
	overflow                // the same, when the other is full
	replication             // calls that decisions wait for
	lines
)

// limited maps each limited path to its first line. Renewals are not limited: there is one to a
// member at a time, and it must not wait behind calls that a member is slow to decide.
var limited = map[string]line{
	wire.PathCreate: decided, wire.PathOpen: decided, wire.PathAttach: decided, wire.PathDetach: decided,
	wire.PathDestroy:     decided,
	wire.PathRelayCreate: decided, wire.PathReplicate: replication,
}

// limiter bounds the calls in progress for each key; further calls wait. The zero value is ready.
type limiter struct {
	mu sync.Mutex
	of map[limitKey]*semaphore
}

// limitKey is an address and the first line for a kind of call.
type limitKey struct {
	addr   string
	first  line
	framed bool // the connection is in frames
}

// semaphore bounds the calls for one key.
type semaphore struct {
	slots [2]chan struct{} // an element for each call in progress, by line from the first on
	users int              // calls in progress or waiting; without any the semaphore is dropped
}

// enter waits for a call's turn, on the first of two lines that each admit width calls, or on the
// second if the call may use it. It prefers the first, so that most processes never need the
// second. done ends the call. enter fails if ctx ends before.
func (l *limiter) enter(ctx context.Context, key limitKey, width int, second bool) (on line, done func(), err error) {
	a := l.use(key, width)
	other := a.slots[1]
	if !second {
		other = nil
	}
	end := func(i line) func() { return func() { <-a.slots[i]; l.leave(key, a) } }
	select {
	case a.slots[0] <- struct{}{}:
		return key.first, end(0), nil
	default:
	}
	select {
	case a.slots[0] <- struct{}{}:
		return key.first, end(0), nil
	case other <- struct{}{}:
		return key.first + 1, end(1), nil
	case <-ctx.Done():
		l.leave(key, a)
		return 0, nil, ctx.Err()
	}
}

func (l *limiter) use(key limitKey, width int) *semaphore {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of[key]
	if a == nil {
		if l.of == nil {
			l.of = map[limitKey]*semaphore{}
		}
		a = &semaphore{slots: [2]chan struct{}{make(chan struct{}, width), make(chan struct{}, width)}}
		l.of[key] = a
	}
	a.users++
	return a
}

func (l *limiter) leave(key limitKey, a *semaphore) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(l.of, key)
	}
}
