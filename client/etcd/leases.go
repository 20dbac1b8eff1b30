package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
)

const (
	// keepAliveMore is the time for which a renewal waits for the lease after its transaction.
	keepAliveMore = time.Second
	// revokeWithin limits the wait for a lease's revocation, which also ends by itself.
	revokeWithin = time.Second
)

// holding is an attachment's hold on a record, by the record's key in etcd.
type holding struct {
	path string
	id   attachment.ID
}

// lease is the lease on a holding's live key.
type lease struct {
	id clientv3.LeaseID // never 0, which etcd takes for "no lease"
	// ttl is the time to live that etcd granted, which may exceed the request.
	ttl time.Duration
	// ends is its end if it is not kept alive; etcd may prolong it.
	ends time.Time
}

// leases belong to the records that this store has claimed, or may have.
type leases struct {
	mu   sync.Mutex
	held map[holding]lease
	// window is the longest window in a claim so far.
	window time.Duration
}

// of returns a holding's lease, false if it has none.
func (l *leases) of(h holding) (lease, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got, ok := l.held[h]
	return got, ok
}

// add records a lease before its claim is sent: the claim may arrive without an answer.
// Leases that have ended are forgotten, so that the map does not grow with them.
func (l *leases) add(h holding, granted lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for old, have := range l.held {
		if now.Sub(have.ends) > have.ttl {
			delete(l.held, old)
		}
	}
	l.held[h] = granted
}

// renewed records that a lease was kept alive at a time.
func (l *leases) renewed(h holding, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have, ok := l.held[h]; ok {
		have.ends = at.Add(have.ttl)
		l.held[h] = have
	}
}

// remove forgets a holding's lease, unless it has another one by now.
func (l *leases) remove(h holding, id clientv3.LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[h].id == id {
		delete(l.held, h)
	}
}

// byID returns a lease's holding, false if it does not belong to this store.
func (l *leases) byID(id clientv3.LeaseID) (holding, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for h, have := range l.held {
		if have.id == id {
			return h, true
		}
	}
	return holding{}, false
}

// longest returns the longest window in claims so far, including one made now. A grant that begins
// later than now is shorter than the window, or empty.
func (l *leases) longest(now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = max(l.window, now)
	if l.window == 0 {
		return window
	}
	return l.window
}

// grant creates a claim's lease, and records it before the claim is sent. A claim that is sent
// again keeps its lease.
func (s *etcdStore) grant(ctx context.Context, h holding, r record.Record) (lease, error) {
	if have, ok := s.leases.of(h); ok && time.Now().Before(have.ends) {
		return have, nil
	}
	atLeast := s.leases.longest(r.Until.Sub(r.From).Duration()) + leaseMargin
	ttl := max(s.cfg.TTL, atLeast).Truncate(time.Second)
	if ttl < max(s.cfg.TTL, atLeast) {
		ttl += time.Second
	}
	sent := time.Now()
	granted, err := s.cli.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return lease{}, err
	}
	if granted.ID == clientv3.NoLease {
		return lease{}, errors.New("etcd granted the lease 0")
	}
	ttl = time.Duration(granted.TTL) * time.Second // etcd has its own minimum
	l := lease{id: granted.ID, ttl: ttl, ends: sent.Add(ttl)}
	s.leases.add(h, l)
	return l, nil
}

// keepAlive prolongs a lease. If it has ended, the renewal's transaction fails.
func (s *etcdStore) keepAlive(ctx context.Context, h holding, l lease) {
	sent := time.Now()
	if _, err := s.cli.KeepAliveOnce(ctx, l.id); err == nil {
		s.leases.renewed(h, sent)
	}
}

// revoke ends a lease that holds nothing any longer. If that fails, the lease ends by
// itself, since nothing keeps it alive.
func (s *etcdStore) revoke(ctx context.Context, h holding, id clientv3.LeaseID) {
	s.leases.remove(h, id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeWithin)
	defer cancel()
	_, _ = s.cli.Revoke(ctx, id)
}
