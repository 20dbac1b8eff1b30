package host

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/pattern"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// bucketsMax bounds the memory for callers that are counted one by one.
	bucketsMax = 8192
	// bucketsSwept is how often buckets of callers that make no calls are looked for, while
	// there are as many as may be.
	bucketsSwept = 100 * time.Millisecond
)

// rates limit the calls per second of each peer about the sequencers of each quota, by a
// token bucket for each. A bucket holds the calls of a second. Beyond bucketsMax callers
// that are active all others share one bucket of the quota: none is without a limit. The zero
// value is ready.
type rates struct {
	mu      sync.Mutex // never held while waiting
	buckets map[rateKey]*bucket
	swept   time.Duration
}

// rateKey is a peer, "" for those that share a bucket, and the pattern of a quota.
type rateKey struct {
	peer partition.Peer
	row  pattern.Pattern
}

// bucket has tokens for calls, at a time.
type bucket struct {
	tokens float64
	at     time.Duration
	rate   int // calls per second
}

// fill adds the tokens of the time since the last look.
func (b *bucket) fill(now time.Duration, rate int) {
	b.tokens = min(b.tokens+(now-b.at).Seconds()*float64(rate), float64(rate))
	b.at, b.rate = now, rate
}

// take takes a token, or returns after what time there will be one.
func (r *rates) take(now time.Duration, key rateKey, rate int) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[key]
	if b == nil && len(r.buckets) >= bucketsMax {
		r.sweep(now)
	}
	if b == nil && len(r.buckets) >= bucketsMax {
		key.peer = ""
		b = r.buckets[key]
	}
	if b == nil {
		if r.buckets == nil {
			r.buckets = map[rateKey]*bucket{}
		}
		b = &bucket{tokens: float64(rate), at: now}
		r.buckets[key] = b // shared ones, one a quota, may be beyond bucketsMax
	}
	b.fill(now, rate)
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / float64(rate) * float64(time.Second))
	}
	b.tokens--
	return 0
}

// sweep forgets the buckets that are full by now, at most once in bucketsSwept.
func (r *rates) sweep(now time.Duration) {
	if now-r.swept < bucketsSwept {
		return
	}
	r.swept = now
	for key, b := range r.buckets {
		if b.fill(now, b.rate); b.tokens >= float64(b.rate) {
			delete(r.buckets, key)
		}
	}
}

// Charge counts a call of a holder about a sequencer, and refuses it if its caller has made as
// many in the last second as the quota of the name allows. The error matches
// sequencer.ErrQuota, and says when to call again.
func (h *Host) Charge(ctx context.Context, action security.Action, name string) error {
	q := h.state.Roster().Quota(name)
	if q.Calls == 0 {
		return nil
	}
	peer := peerOf(ctx)
	if peer == "" {
		return nil
	}
	wait := h.rates.take(h.clock.Mono(), rateKey{peer, q.Pattern}, q.Calls)
	if wait == 0 {
		return nil
	}
	err := &wire.LaterError{Of: sequencer.ErrQuota, After: wait, Message: fmt.Sprintf("sequencer %q: %s makes more calls than the quota of %q allows, %d per second at one member; call again in %v, keep handles instead of making new ones, or have an operator raise it: snowgrid quota set %q --calls COUNT",
		name, peer, string(q.Pattern), q.Calls, max(wait.Round(time.Millisecond), time.Millisecond), string(q.Pattern))}
	h.refusedByQuota(ctx, RefusedCalls, action, name, err)
	return err
}

// site returns the part of an address that one caller has: an IPv4 address, or the /64
// network of an IPv6 address, of which a host may use any.
func site(host string) string {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	network, _ := ip.Prefix(64) // IPv6 has as many bits
	return network.String()
}
