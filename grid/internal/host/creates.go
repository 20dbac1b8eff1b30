package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// A new sequencer costs its owner and each replica a disk write, and as much processor time as dozens
// of renewals. So a member creates newNames per second for one certificate or token, and newAtOnce in
// a burst, both per processor. Up to newWaits further creates wait for newWait; others are refused
// with a retry time. Creates of existing sequencers are not counted.
const (
	newNames  = 25
	newAtOnce = 50
	newWait   = 2 * time.Second
	newWaits  = 256
)

// paces are the turns of credentials. Its zero value is ready, for those to create sequencers.
type paces struct {
	each, burst time.Duration                              // the time per turn, and the burst; 0: of creates
	refusal     func(peer partition.Peer, rate int) string // without the remedy; nil: of creates

	mu  sync.Mutex // guards the fields below and each pace
	of  map[partition.Peer]*pace
	min int // how many there were after the last look for unused ones
}

type pace struct {
	paid  time.Time // up to when its creates use up the rate
	waits int
}

// errTurn refuses a new sequencer inside the member, until its caller has a turn.
var errTurn = errors.New("host: the create waits for its turn")

// pacedPeer returns the caller's credential if its creates are paced: not for this process, in a
// clear-text grid, or where a quota limits calls.
func (l *limits) pacedPeer(ctx context.Context, name string) partition.Peer {
	p := api.PeerOf(ctx)
	if p.ID == "" || !isPaced(p.Role) || l.state.Roster().Quota(name).Calls > 0 {
		return ""
	}
	return partition.Peer(p.ID)
}

// isPaced reports whether creates of a role are paced. An admin imports all names of a grid.
func isPaced(r security.Role) bool { return r != security.Member && r != security.Admin }

// newEach returns the time per create.
func newEach() time.Duration {
	return time.Second / time.Duration(newNames*runtime.GOMAXPROCS(0))
}

// one returns the time per turn, and atOnce the burst.
func (p *paces) one() time.Duration {
	if p.each > 0 {
		return p.each
	}
	return newEach()
}

func (p *paces) atOnce() time.Duration {
	if p.burst > 0 {
		return p.burst
	}
	return newEach() * time.Duration(newAtOnce*runtime.GOMAXPROCS(0))
}

func (p *paces) refused(peer partition.Peer, rate int) string {
	if p.refusal != nil {
		return p.refusal(peer, rate)
	}
	return fmt.Sprintf("%s creates more new sequencers than the %d per second that a member creates for one certificate "+
		"or token; or have an operator set a quota of calls", peer, rate)
}

// Turns paces requests that make the leader write to the log, by credential.
type Turns struct{ p paces }

// NewTurns returns turns at a rate per credential, with atOnce in a burst. refusal formats a refusal.
func NewTurns(rate, atOnce int, refusal func(peer partition.Peer, rate int) string) *Turns {
	each := time.Second / time.Duration(rate)
	return &Turns{paces{each: each, burst: time.Duration(atOnce) * each, refusal: refusal}}
}

// Take waits for the next turn of a credential, for newWait at most. Errors match wire.ErrOverloaded.
func (t *Turns) Take(ctx context.Context, peer partition.Peer) error {
	if t.p.take(peer, time.Now()) {
		return nil
	}
	return t.p.wait(ctx, peer)
}

// take takes the turn of a credential if it is its turn now.
func (p *paces) take(peer partition.Peer, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.get(peer, now)
	if own.waits > 0 || own.paid.Sub(now) >= p.atOnce() {
		return false
	}
	own.paid = own.paid.Add(p.one())
	return true
}

// giveBack returns a turn that was not used.
func (p *paces) giveBack(peer partition.Peer, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.get(peer, now)
	own.paid = own.paid.Add(-p.one())
}

// wait waits for the next turn. Errors match wire.ErrOverloaded.
func (p *paces) wait(ctx context.Context, peer partition.Peer) error {
	now := time.Now()
	p.mu.Lock()
	own := p.get(peer, now)
	left := own.paid.Sub(now) - p.atOnce() + p.one()
	if end, bounded := ctx.Deadline(); left > newWait || own.waits >= newWaits || bounded && left > end.Sub(now) {
		p.mu.Unlock()
		return &wire.LaterError{Of: wire.ErrOverloaded, After: max(left, newWait),
			Message: fmt.Sprintf("grid: %s; call again in %v",
				p.refused(peer, int(time.Second/p.one())), max(left, newWait).Round(time.Millisecond))}
	}
	own.paid = own.paid.Add(p.one())
	own.waits++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		own.waits--
	}()
	if !signal.Sleep(ctx, left) {
		return failure.Errorf(wire.ErrOverloaded, "grid: the caller gave up before its turn: %w", ctx.Err())
	}
	return nil
}

// get returns a credential's pace. It drops the paces that have recovered their whole burst when the
// number has doubled since the last sweep. The caller holds mu.
func (p *paces) get(peer partition.Peer, now time.Time) *pace {
	if p.of == nil {
		p.of = map[partition.Peer]*pace{}
	}
	own := p.of[peer]
	if own == nil {
		if len(p.of) > 2*p.min+64 {
			maps.DeleteFunc(p.of, func(_ partition.Peer, c *pace) bool { return c.waits == 0 && c.paid.Before(now) })
			p.min = len(p.of)
		}
		own = &pace{}
		p.of[peer] = own
	}
	if own.paid.Before(now) {
		own.paid = now
	}
	return own
}
