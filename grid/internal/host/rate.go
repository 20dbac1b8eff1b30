package host

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// bucketsMax bounds the memory for callers that are counted one by one.
	bucketsMax = 8192
	// bucketsSwept is the interval of sweeps for idle buckets while the number is at its maximum.
	bucketsSwept = 100 * time.Millisecond
)

// rates limits the calls per second of each peer on each quota's sequencers, with a token bucket each.
// A bucket holds one second's calls. Beyond bucketsMax active callers, all others share one bucket per
// quota, so every caller is limited. The zero value is ready.
type rates struct {
	mu      sync.Mutex // never held while waiting
	buckets map[rateKey]*rate.Limiter
	swept   time.Duration
}

type rateKey struct {
	peer partition.Peer
	row  spelling.Pattern
}

// take takes a token for one of so many calls per second, or returns the wait for the next one.
func (r *rates) take(now time.Duration, key rateKey, calls int) (wait time.Duration) {
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
			r.buckets = map[rateKey]*rate.Limiter{}
		}
		b = rate.NewLimiter(rate.Limit(calls), calls)
		r.buckets[key] = b // shared ones, one a quota, may be beyond bucketsMax
	}
	at := time.Time{}.Add(now)
	if b.Burst() != calls { // the quota has changed
		b.SetLimitAt(at, rate.Limit(calls))
		b.SetBurstAt(at, calls)
	}
	if b.AllowN(at, 1) {
		return 0
	}
	return time.Duration((1 - b.TokensAt(at)) / float64(calls) * float64(time.Second))
}

func (r *rates) sweep(now time.Duration) {
	if now-r.swept < bucketsSwept {
		return
	}
	r.swept = now
	maps.DeleteFunc(r.buckets, func(_ rateKey, b *rate.Limiter) bool {
		return b.TokensAt(time.Time{}.Add(now)) >= float64(b.Burst())
	})
}

// Charge counts a holder's call on a sequencer, and refuses it if the caller has used up the last
// second's quota for the name. The error matches sequencer.ErrQuota, and has a retry time.
func (l *limits) Charge(ctx context.Context, action security.Action, name string) error {
	q := l.state.Roster().Quota(name)
	if q.Calls == 0 {
		return nil
	}
	peer := peerOf(ctx)
	if peer == "" {
		return nil
	}
	wait := l.rates.take(l.clock.Mono(), rateKey{peer, q.Pattern}, q.Calls)
	if wait == 0 {
		return nil
	}
	err := &wire.LaterError{Of: sequencer.ErrQuota, After: wait, Message: fmt.Sprintf(
		"sequencer %q: %s makes more calls than the quota of %q allows, %d per second at one member; call again in %v, "+
			"keep handles instead of making new ones, or have an operator raise it: snowgrid quota set %q --calls COUNT",
		name, peer, string(q.Pattern), q.Calls, max(wait.Round(time.Millisecond), time.Millisecond), string(q.Pattern))}
	l.refusedByQuota(ctx, RefusedCalls, action, name, err)
	return err
}

// site returns the part of an address that identifies one caller: an IPv4 address, or an IPv6 /64
// network, since a host may use any address in it.
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
