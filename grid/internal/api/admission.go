package api

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// admission decides which requests of holders a member serves when it has more to do than it
// can. The measure is time, not a number of requests: how long a goroutine that is ready waits
// for a processor. From a request to its answer that happens some times, so with a long wait
// everything that is served comes too late. Requests that can wait are refused first, the newest,
// and are told when to come again:
//
//	queries            beyond 10 ms
//	creates, destroys  beyond 20 ms
//	attaches, others   beyond 40 ms
//	renewals           only if the answer would come after the caller's time limit
//
// Calls between members pass by it: they are few, and the others wait for what they bring. So do
// all requests while only a few are in progress: then it is not they that keep the processors busy,
// and to refuse them would end nothing.
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
var patience = [...]time.Duration{renewal: math.MaxInt64, attach: 40 * time.Millisecond, create: 20 * time.Millisecond, query: 10 * time.Millisecond}

const (
	// requestsMax bounds the requests in progress in any case, and with them the memory. It is
	// large enough for 10,000 holders that renew and attach concurrently.
	requestsMax = 16384
	// fewRequests, for each processor, are too few to be the cause of a long queue.
	fewRequests = 32
	// queued is how often a goroutine waits for a processor between a request and its answer.
	queued = 4
	// overloadedRetry is when a caller that was refused calls again at the earliest. Clients add up
	// to a half of it at random, so that they do not come back together.
	overloadedRetry = time.Second
)

// priorities are those of paths; all others have that of attaches.
var priorities = map[string]priority{
	wire.PathRenew: renewal, wire.PathDetach: renewal, wire.PathDirectory: renewal,
	wire.PathCreate: create, wire.PathDestroy: create,
	wire.PathStatus: query, wire.PathSequencers: query, wire.PathHolders: query, wire.PathUnused: query,
	wire.PathMembershipSize: query, wire.PathMembershipNodes: query,
}

func priorityOf(path string) priority {
	if p, known := priorities[path]; known {
		return p
	}
	return attach
}

// enter lets a request in whose caller waits for some time more, 0 if it did not say; leave ends
// it.
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
	return nil, &wire.LaterError{
		Message: fmt.Sprintf("grid: this member %s; try again in %v", why, overloadedRetry), After: overloadedRetry, Of: wire.ErrOverloaded,
	}
}

// overdue returns why a request is refused at a queue delay, "" if it is served.
func overdue(p priority, delay, left time.Duration) string {
	switch {
	case delay > patience[p]:
		return fmt.Sprintf("has too much to do: work waits %v for a processor, and such requests are served up to %v", delay.Round(time.Millisecond), patience[p])
	case left > 0 && queued*delay > left:
		return fmt.Sprintf("has too much to do: it would answer in %v, and the caller waits for %v", (queued * delay).Round(time.Millisecond), left.Round(time.Millisecond))
	}
	return ""
}

// stretch returns how much longer than usual holders may wait with their next renewal: 0 for a
// member without a queue, 1 for one that refuses attaches.
func (a *admission) stretch() float64 {
	if a.requests.Load() <= int64(fewRequests*runtime.GOMAXPROCS(0)) {
		return 0
	}
	return min(float64(a.delay.now())/float64(patience[attach]), 1)
}
