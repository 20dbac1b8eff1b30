package grid

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// A status of the whole grid takes work from every member. A member therefore gathers one at a
// time, for all requests that have arrived before, and limits each certificate or token to a number
// of them, and of list pages, per second.
const (
	queryRate     = 25 // times the processors
	queriesAtOnce = 200
)

// statusCache answers the queries of the whole grid for this member.
type statusCache struct {
	turns *host.Turns

	gathering chan struct{} // is full while a status is gathered

	mu   sync.Mutex     // guards what follows
	next *pendingStatus // the status that is gathered next; nil: no request waits for one
}

// pendingStatus is a status that several requests wait for.
type pendingStatus struct {
	done   chan struct{} // closed when status is set
	status Status
}

func newStatusCache() *statusCache {
	return &statusCache{gathering: make(chan struct{}, 1), turns: host.NewTurns(queryRate*runtime.GOMAXPROCS(0),
		queriesAtOnce,
		func(peer partition.Peer, rate int) string {
			return fmt.Sprintf("%s requests the status or lists more often than %d times per second, the limit for each "+
				"certificate or token", peer, rate)
		})}
}

// enter charges a caller; members, and callers in clear text, are not limited.
func (l *statusCache) enter(ctx context.Context) error {
	p := api.PeerOf(ctx)
	if p.ID == "" || p.Role == security.Member {
		return nil
	}
	return l.turns.Take(ctx, partition.Peer(p.ID))
}

// status returns a status that is gathered after the call: the effects of earlier calls are in it. Calls
// that wait for a gathering in progress share the next one. It returns the error of a context that ends.
func (l *statusCache) status(ctx context.Context, gather func() Status) (Status, error) {
	l.mu.Lock()
	n, first := l.next, l.next == nil
	if first {
		n = &pendingStatus{done: make(chan struct{})}
		l.next = n
	}
	l.mu.Unlock()
	if first { // whatever its context, since others share the result; a gathering takes a second at most
		l.gathering <- struct{}{}
		l.mu.Lock()
		l.next = nil
		l.mu.Unlock()
		n.status = gather()
		close(n.done)
		<-l.gathering
		return n.status, nil
	}
	select {
	case <-n.done:
		return n.status, nil
	case <-ctx.Done():
		return Status{}, ctx.Err()
	}
}
