package api

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/wire"
)

// requestLimit bounds the concurrent requests of holders at a member, served or
// waiting for a partition's actor. When an owner has died, all its holders come
// together; those beyond the bound are told to come again, and do, a little later
// each. Calls between members pass by it: they are few, and the others wait for
// what they bring.
type requestLimit struct {
	requests atomic.Int64
	refused  atomic.Uint64
}

// requestsMax is large enough for 10,000 holders that renew and attach concurrently.
const requestsMax = 16384

// overloadedRetry is when a caller that was refused calls again at the earliest. Clients add up
// to a half of it at random, so that they do not come back together.
const overloadedRetry = time.Second

// enter lets a request in; leave ends it.
func (g *requestLimit) enter() (leave func(), err error) {
	if g.requests.Add(1) > requestsMax {
		g.requests.Add(-1)
		g.refused.Add(1)
		return nil, &wire.LaterError{
			Message: fmt.Sprintf("grid: this member has %d requests to serve already; try again in %v", requestsMax, overloadedRetry),
			After:   overloadedRetry, Of: wire.ErrOverloaded,
		}
	}
	return func() { g.requests.Add(-1) }, nil
}
