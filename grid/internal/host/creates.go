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

// Turns paces requests that cost much, by credential.
type Turns struct {
	each, burst time.Duration // the time per turn, and the burst
	refusal     func(peer partition.Peer, rate int) string

	mu  sync.Mutex // guards the fields below and each pace
	of  map[partition.Peer]*pace
	min int // how many there were after the last look for unused ones
}

type pace struct {
	paid  time.Time // up to when its turns use up the rate
	waits int
}

// NewTurns returns turns at a rate per credential, with atOnce in a burst. refusal is its text, without the remedy.
func NewTurns(rate, atOnce int, refusal func(peer partition.Peer, rate int) string) *Turns {
	each := time.Second / time.Duration(rate)
	return &Turns{each: each, burst: time.Duration(atOnce) * each, refusal: refusal, of: map[partition.Peer]*pace{}}
}

// newCreates returns the turns for new sequencers.
func newCreates() *Turns {
	processors := runtime.GOMAXPROCS(0)
	return NewTurns(newNames*processors, newAtOnce*processors, func(peer partition.Peer, rate int) string {
		return fmt.Sprintf("%s creates more new sequencers than the %d per second that a member creates for one certificate "+
			"or token; or have an operator set a quota of calls", peer, rate)
	})
}

// Take waits for the next turn of a credential, for newWait at most. Errors match wire.ErrOverloaded.
func (t *Turns) Take(ctx context.Context, peer partition.Peer) error {
	if t.take(peer, time.Now()) {
		return nil
	}
	return t.wait(ctx, peer)
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

// take takes the turn of a credential if it is its turn now.
func (t *Turns) take(peer partition.Peer, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.get(peer, now)
	if own.waits > 0 || own.paid.Sub(now) >= t.burst {
		return false
	}
	own.paid = own.paid.Add(t.each)
	return true
}

// giveBack returns a turn that was not used.
func (t *Turns) giveBack(peer partition.Peer, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.get(peer, now)
	own.paid = own.paid.Add(-t.each)
}

// wait waits for the next turn. Errors match wire.ErrOverloaded.
func (t *Turns) wait(ctx context.Context, peer partition.Peer) error {
	now := time.Now()
	t.mu.Lock()
	own := t.get(peer, now)
	left := own.paid.Sub(now) - t.burst + t.each
	if end, bounded := ctx.Deadline(); left > newWait || own.waits >= newWaits || bounded && left > end.Sub(now) {
		t.mu.Unlock()
		return &wire.LaterError{Of: wire.ErrOverloaded, After: max(left, newWait),
			Message: fmt.Sprintf("grid: %s; call again in %v",
				t.refusal(peer, int(time.Second/t.each)), max(left, newWait).Round(time.Millisecond))}
	}
	own.paid = own.paid.Add(t.each)
	own.waits++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		own.waits--
	}()
	if !signal.Sleep(ctx, left) {
		return failure.Errorf(wire.ErrOverloaded, "grid: the caller gave up before its turn: %w", ctx.Err())
	}
	return nil
}

// get returns a credential's pace. It drops the paces that have recovered their whole burst when the
// number has doubled since the last sweep. The caller holds mu.
func (t *Turns) get(peer partition.Peer, now time.Time) *pace {
	own := t.of[peer]
	if own == nil {
		if len(t.of) > 2*t.min+64 {
			maps.DeleteFunc(t.of, func(_ partition.Peer, c *pace) bool { return c.waits == 0 && c.paid.Before(now) })
			t.min = len(t.of)
		}
		own = &pace{}
		t.of[peer] = own
	}
	if own.paid.Before(now) {
		own.paid = now
	}
	return own
}
