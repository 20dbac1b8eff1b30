package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// keepAliveMore is how much longer than its transaction a renewal waits for the lease.
	keepAliveMore = time.Second
	// revokeWithin limits the wait for the end of a lease, which ends by itself too.
	revokeWithin = time.Second
)

// holding is an attachment's hold of a record, by the record's key in etcd.
type holding struct {
	path string
	id   sequencer.AttachmentID
}

// lease is the lease of a holding's live key.
type lease struct {
	id clientv3.LeaseID // never 0, which etcd takes for "no lease"
	// ttl is the one that etcd granted, which may be longer than the one asked for.
	ttl time.Duration
	// ends is when it ends if it is not kept alive; etcd may prolong it.
	ends time.Time
}

// leases are those of the records that this store has claimed, or may have.
type leases struct {
	mu   sync.Mutex
	held map[holding]lease
	// window is the longest window that a claim has shown.
	window time.Duration
}

// of returns the lease of a holding, false if it has none.
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

// byID returns the holding of a lease, false if it is not one of this store.
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

// longest returns the longest window that claims have shown, among them one now. A grant
// that begins later than now is shorter than the window, or empty.
func (l *leases) longest(now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = max(l.window, now)
	if l.window == 0 {
		return window
	}
	return l.window
}

// grant makes the lease of a claim, and records it before the claim is sent. A claim that
// is sent again keeps its lease.
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
	ttl = time.Duration(granted.TTL) * time.Second // etcd has a minimum of its own
	l := lease{id: granted.ID, ttl: ttl, ends: sent.Add(ttl)}
	s.leases.add(h, l)
	return l, nil
}

// keepAlive prolongs a lease. That it has ended shows in the transaction of the renewal.
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
