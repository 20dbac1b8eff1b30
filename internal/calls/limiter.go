package calls

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// kind is a kind of call of which a process has a limited number in progress at one member.
type kind int

const (
	// decided are the calls that a member may be slow to decide.
	decided kind = iota
	// destroys are decided too. They wait for detaches by holders, possibly by this process, so
	// they leave half of the places to others.
	destroys
	// replication are the calls that decisions wait for.
	replication
	// relayed are renewals and releases of grants that a member relays to the owner. They do not wait behind
	// first requests.
	relayed
)

// widths are the limits. All calls to a member share a connection: together they stay below
// frames.StreamsMax, and leave a quarter to renewals, the directory, events and other rare calls.
var widths = [...]int{decided: 24, destroys: 12, replication: wire.MaxCalls, relayed: 16}

// limited maps each limited path to its kind. Renewals are not limited: there is one to a member
// at a time, and it must not wait behind calls that a member is slow to decide.
var limited = map[string]kind{
	wire.PathCreate: decided, wire.PathOpen: decided, wire.PathAttach: decided, wire.PathDetach: decided,
	wire.PathDestroy:     destroys,
	wire.PathRelayCreate: decided, wire.PathRelayGrant: decided, wire.PathReplicate: replication,
	wire.PathRelayRenewal: relayed,
}

// limiter bounds the calls in progress for each key; more wait. The zero value is ready.
type limiter struct {
	mu sync.Mutex
	of map[limitKey]*semaphore
}

type limitKey struct {
	addr string
	kind kind
}

// semaphore bounds the calls for one key.
type semaphore struct {
	places chan struct{} // has an element for each call in progress
	users  int           // in progress or waiting; without any the semaphore is dropped
}

// turn waits until a call may be sent; done ends the call. It fails if ctx ends before.
func (l *limiter) turn(ctx context.Context, addr, path string) (done func(), err error) {
	k, waits := limited[path]
	if !waits {
		return func() {}, nil
	}
	end, err := l.enter(ctx, limitKey{addr, k})
	if err != nil || k != destroys {
		return end, err
	}
	also, err := l.enter(ctx, limitKey{addr, decided})
	if err != nil {
		end()
		return nil, err
	}
	return func() { also(); end() }, nil
}

// enter waits for a place; done gives it back. It fails if ctx ends before.
func (l *limiter) enter(ctx context.Context, key limitKey) (done func(), err error) {
	s := l.use(key)
	select {
	case s.places <- struct{}{}:
		return func() { <-s.places; l.leave(key, s) }, nil
	case <-ctx.Done():
		l.leave(key, s)
		return nil, ctx.Err()
	}
}

func (l *limiter) use(key limitKey) *semaphore {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.of[key]
	if s == nil {
		if l.of == nil {
			l.of = map[limitKey]*semaphore{}
		}
		s = &semaphore{places: make(chan struct{}, widths[key.kind])}
		l.of[key] = s
	}
	s.users++
	return s
}

func (l *limiter) leave(key limitKey, s *semaphore) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(l.of, key)
	}
}
