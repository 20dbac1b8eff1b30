package grid

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// A status of the whole grid takes work of every member. So callers that ask at about the same time
// share one, and a certificate or token has a number of them, and of pages of lists, in a second.
const (
	looksRate   = 25 // times the processors
	looksAtOnce = 200
	// sharedFor bounds the time for which a status is shared. It is shared for sharedTimes as long as it
	// took: a small grid's is always new.
	sharedFor   = time.Second
	sharedTimes = 10
)

// looks are the queries of the whole grid that this member answers.
type looks struct {
	turns *host.Turns

	gathering chan struct{} // is full while a status is gathered; guards what follows
	last      Status
	until     time.Time // when last is too old; zero: there is none
}

func newLooks() *looks {
	return &looks{gathering: make(chan struct{}, 1), turns: host.NewTurns(looksRate*runtime.GOMAXPROCS(0), looksAtOnce, func(peer partition.Peer, rate int) string {
		return fmt.Sprintf("%s asks more often for the status or lists than the %d times per second that a member answers one certificate or token", peer, rate)
	})}
}

// enter takes the turn of a caller: none of a member, or of a grid in clear text.
func (l *looks) enter(ctx context.Context) error {
	p := api.PeerOf(ctx)
	if p.ID == "" || p.Role == security.Member {
		return nil
	}
	return l.turns.Take(ctx, partition.Peer(p.ID))
}

// status returns the last status if it is new enough, else one that gather returns.
func (l *looks) status(gather func() Status) Status {
	l.gathering <- struct{}{} // for as long as members have to answer, a second
	defer func() { <-l.gathering }()
	began := time.Now()
	if began.Before(l.until) {
		return l.last
	}
	l.last = gather()
	l.until = time.Now().Add(min(sharedFor, sharedTimes*time.Since(began)))
	return l.last
}
