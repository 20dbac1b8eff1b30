package api

import (
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
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

// enter lets a request in; leave ends it.
func (g *requestLimit) enter() (leave func(), err error) {
	if g.requests.Add(1) > requestsMax {
		g.requests.Add(-1)
		g.refused.Add(1)
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: this member has %d requests to serve already; try again", requestsMax)
	}
	return func() { g.requests.Add(-1) }, nil
}
