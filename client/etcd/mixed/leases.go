package mixed

import (
	"cmp"
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/internal/record"
)

const (
	// leaseMargin is the time by which a lease is longer than a window.
	leaseMargin = time.Second
	// leaseCallWithin limits a lease's call after a transaction, whose result waits for it.
	leaseCallWithin = time.Second
)

// longest is the longest window in claims so far.
type longest struct {
	mu     sync.Mutex
	window time.Duration
}

// with returns the longest window after one more claim. A grant that begins later than now is shorter
// than the window, or empty.
func (l *longest) with(claim record.Record) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window = max(l.window, claim.Until.Sub(claim.From).Duration())
	return cmp.Or(l.window, window)
}

func (s *mixedStore) grant(ctx context.Context, claim record.Record) (clientv3.LeaseID, error) {
	ttl := (s.longest.with(claim) + leaseMargin + time.Second - 1) / time.Second // rounded up
	granted, err := s.cli.Grant(ctx, int64(ttl))
	if err != nil {
		return clientv3.NoLease, err
	}
	return granted.ID, nil
}

// revoke ends a lease that holds nothing any longer. If that fails, the lease ends by itself, since
// nothing keeps it alive.
func (s *mixedStore) revoke(ctx context.Context, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseCallWithin)
	defer cancel()
	_, _ = s.cli.Revoke(ctx, id)
}
