package api

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// admission decides which holder requests an overloaded member serves. It measures time, not requests:
// the wait of a runnable goroutine for a processor. A request incurs this wait several times, so a
// long wait makes every reply late. Requests that can wait are refused first, the newest first, and
// are given a retry time:
//
//	queries            beyond 10 ms
//	creates, destroys  beyond 20 ms
//	attaches, others   beyond 40 ms
//	renewals           only if the reply would exceed the caller's time limit
//
// Calls between members bypass it: they are few, and other requests depend on them. So does every
// request while only a few are in progress: they are not the cause of the load then.
type admission struct {
	delay    queueDelay
	requests atomic.Int64 // in progress
	refused  atomic.Uint64
}

// priority is the order in which requests are refused, the last first.
type priority int

const (
	renewal priority = iota
	attach
	create
	query
)

// patience is the queue delay up to which requests are served.
var patience = [...]time.Duration{renewal: math.MaxInt64, attach: 40 * time.Millisecond, create: 20 * time.Millisecond,
	query: 10 * time.Millisecond}

const (
	// requestsMax bounds the requests in progress in any case, and with them the memory. It is
	// large enough for 10,000 holders that renew and attach concurrently.
	requestsMax = 16384
	// fewRequests, for each processor, are too few to be the cause of a long queue.
	fewRequests = 32
	// queued is the number of processor waits between a request and its reply.
	queued = 4
	// overloadedRetry is the retry time for refused callers. Clients add up to half of it at random, to
	// spread their return.
	overloadedRetry = time.Second
)

// priorities maps paths to priorities; all others have the priority of attaches.
var priorities = map[string]priority{
	wire.PathRenew: renewal, wire.PathDetach: renewal, wire.PathDirectory: renewal,
	wire.PathGrants: renewal, // first requests also pass admitGrant
	wire.PathCreate: create, wire.PathDestroy: create,
	wire.PathStatus: query, wire.PathSequencers: query, wire.PathHolders: query, wire.PathUnused: query,
	membership.PathSize: query, membership.PathNodes: query,
}

func priorityOf(path string) priority {
	if p, known := priorities[path]; known {
		return p
	}
	return attach
}

// enter admits a request with the given time left, 0 if unknown; leave ends it.
func (a *admission) enter(p priority, left time.Duration) (leave func(), err error) {
	n := a.requests.Add(1)
	why := ""
	if n > requestsMax {
		why = fmt.Sprintf("has %d requests to serve already", requestsMax)
	} else if n > int64(fewRequests*runtime.GOMAXPROCS(0)) {
		why = overdue(p, a.delay.now(), left)
	}
	if why == "" {
		return func() { a.requests.Add(-1) }, nil
	}
	a.requests.Add(-1)
	a.refused.Add(1)
	return func() {}, &wire.LaterError{
		Message: fmt.Sprintf("grid: this member %s; try again in %v", why, overloadedRetry),
		After:   overloadedRetry, Of: wire.ErrOverloaded,
	}
}

// overdue returns why a request is refused at a queue delay, "" if it is served.
func overdue(p priority, delay, left time.Duration) string {
	switch {
	case delay > patience[p]:
		return fmt.Sprintf("has too much to do: work waits %v for a processor, and such requests are served up to %v",
			delay.Round(time.Millisecond), patience[p])
	case left > 0 && queued*delay > left:
		return fmt.Sprintf("has too much to do: it would answer in %v, and the caller waits for %v",
			(queued * delay).Round(time.Millisecond), left.Round(time.Millisecond))
	}
	return ""
}

func (a *admission) stretch() float64 {
	if a.requests.Load() <= int64(fewRequests*runtime.GOMAXPROCS(0)) {
		return 0
	}
	return min(float64(a.delay.now())/float64(patience[attach]), 1)
}

// Stretch returns how much longer than usual holders may wait with their next renewal, from 0 to
// 1: renewals are the most requests of a member that has too much to do.
func (a *Server) Stretch() float64 { return a.load.stretch() }

// admitGrant admits a first request for a grant as an attach or a create; its path has the priority of
// renewals.
func (a *Server) admitGrant(ctx context.Context, in any) (leave func(), err error) {
	r, is := in.(wire.GrantRequest)
	if !is || r.Grant != "" {
		return func() {}, nil
	}
	p := attach
	if r.Create != nil {
		p = create
	}
	return a.load.enter(p, timeLeft(ctx))
}

// Fill takes every place under the request limit until empty is called: for tests. A request in
// progress leaves no free place when it ends.
func (a *Server) Fill() (empty func()) {
	a.load.requests.Add(requestsMax)
	return func() { a.load.requests.Add(-requestsMax) }
}
