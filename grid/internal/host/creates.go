package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// A new sequencer costs its owner and each replica a write to the disk, and as much processor
// time as dozens of renewals. So a member creates newNames in a second for one certificate or
// token, and newAtOnce in a burst, each times its processors. Creates beyond that wait for their
// turn, newWaits of them for newWait; others are told to come again. A create of a sequencer that
// exists is not counted.
const (
	newNames  = 25
	newAtOnce = 50
	newWait   = 2 * time.Second
	newWaits  = 256
)

// paces are the turns of credentials. Its zero value is ready, for those to create sequencers.
type paces struct {
	each, burst time.Duration                              // of one turn, and of those at once; 0: of creates
	refusal     func(peer partition.Peer, rate int) string // without the remedy; nil: of creates

	mu  sync.Mutex // guards what follows, and each pace
	of  map[partition.Peer]*pace
	min int // how many there were after the last look for unused ones
}

// pace is that of one credential.
type pace struct {
	paid  time.Time // up to when its creates use up the rate
	waits int
}

// errTurn refuses a new sequencer inside the member, until its caller has a turn.
var errTurn = errors.New("host: the create waits for its turn")

// pacedPeer returns the credential whose creates have a pace: none of a member, of this process
// or of a grid in clear text, and none where a quota limits calls.
func (h *Host) pacedPeer(ctx context.Context, name string) partition.Peer {
	p := api.PeerOf(ctx)
	if p.ID == "" || p.Role == security.Member || h.state.Roster().Quota(name).Calls > 0 {
		return ""
	}
	return partition.Peer(p.ID)
}

// newEach is the time of one create, and newBurst that of a burst.
func newEach() time.Duration {
	return time.Second / time.Duration(newNames*runtime.GOMAXPROCS(0))
}

func newBurst() time.Duration {
	return newEach() * time.Duration(newAtOnce*runtime.GOMAXPROCS(0))
}

// one is the time of one turn, and atOnce that of a burst.
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
	return newBurst()
}

// refused returns the text of a refusal.
func (p *paces) refused(peer partition.Peer, rate int) string {
	if p.refusal != nil {
		return p.refusal(peer, rate)
	}
	return fmt.Sprintf("%s creates more new sequencers than the %d per second that a member creates for one certificate or token; or have an operator set a quota of calls", peer, rate)
}

// Turns paces what credentials have the leader write to the log.
type Turns struct{ p paces }

// NewTurns returns turns at a rate of each credential, atOnce of them in a burst. refusal is the
// text of a refusal.
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
		return &wire.LaterError{Of: wire.ErrOverloaded, After: max(left, newWait), Message: fmt.Sprintf("grid: %s; call again in %v",
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
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return failure.Errorf(wire.ErrOverloaded, "grid: the caller gave up before its turn: %w", ctx.Err())
	}
}

// get returns the pace of a credential. It forgets those that have their whole burst again, when there
// are twice as many as after the last time. The caller holds mu.
func (p *paces) get(peer partition.Peer, now time.Time) *pace {
	if p.of == nil {
		p.of = map[partition.Peer]*pace{}
	}
	own := p.of[peer]
	if own == nil {
		if len(p.of) > 2*p.min+64 {
			for other, c := range p.of {
				if c.waits == 0 && c.paid.Before(now) {
					delete(p.of, other)
				}
			}
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
