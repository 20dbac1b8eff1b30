package etcd

import (
	"context"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store"
)

// Watch implements [store.Watcher]. It reports every change except record renewals, and ended
// leases. The channel is also closed if etcd loses its majority.
//
// Each holder renews every few seconds, so a watch on all records would send every renewal to every
// client. Instead the relevant writes put their key into one more key, and the watch covers only
// that key, and deletions.
func (s *etcdStore) Watch(ctx context.Context, prefix string) (<-chan string, error) {
	if err := s.usable("watch", prefix); err != nil {
		return nil, err
	}
	start, err := s.cli.Get(ctx, s.at.changes()) // the current revision
	if err != nil {
		return nil, failed("watch", prefix, err)
	}
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	w := &watch{s: s, prefix: prefix, events: make(chan string)}
	var following sync.WaitGroup
	follow := func(key string, opts ...clientv3.OpOption) {
		following.Go(func() {
			defer stop() // a part of the watch has ended, so all of it does
			w.follow(ctx, start.Header.Revision+1, key, opts...)
		})
	}
	follow(s.at.changes())
	follow(string(s.at), clientv3.WithPrefix(), clientv3.WithFilterPut())
	out := make(chan string)
	go func() {
		defer close(out)
		defer following.Wait()
		defer stop()
		deliver(ctx, w.events, out)
	}()
	return out, nil
}

// watch is one watch on the keys with a prefix.
type watch struct {
	s      *etcdStore
	prefix string
	events chan string
}

// follow sends the keys that change from a revision on, until the watch breaks or ctx
// ends. If etcd has compacted that revision, changes may have been missed: then all keys
// are sent, and the watch continues from there.
func (w *watch) follow(ctx context.Context, from int64, key string, opts ...clientv3.OpOption) {
	for {
		compacted := false
		for res := range w.s.cli.Watch(ctx, key, append(opts, clientv3.WithRev(from))...) {
			if compacted = res.CompactRevision != 0; compacted {
				break
			}
			for _, e := range res.Events {
				if e.Type == mvccpb.DELETE {
					key, ok := w.s.at.keyOf(string(e.Kv.Key))
					w.send(ctx, key, ok)
				} else {
					w.send(ctx, string(e.Kv.Value), true)
				}
			}
		}
		if !compacted || ctx.Err() != nil {
			return
		}
		all, revision, err := w.s.list(ctx, w.prefix)
		if err != nil {
			return
		}
		for _, e := range all {
			w.send(ctx, e.Key, true)
		}
		from = revision + 1
	}
}

// send sends a key that has the watch's prefix.
func (w *watch) send(ctx context.Context, key string, is bool) {
	if !is || !strings.HasPrefix(key, w.prefix) {
		return
	}
	select {
	case w.events <- key:
	case <-ctx.Done():
	}
}

// tells returns the operation by which a transaction notifies watches about its key.
func (s *etcdStore) tells(key string) clientv3.Op { return clientv3.OpPut(s.at.changes(), key) }

// deliver passes keys on until ctx ends. A key that waits is passed on once, however often
// it has changed since, so a slow reader makes no queue.
func deliver(ctx context.Context, events <-chan string, out chan<- string) {
	var waiting []string
	isWaiting := map[string]bool{}
	for {
		var next string
		var send chan<- string
		if len(waiting) > 0 {
			next, send = waiting[0], out
		}
		select {
		case key := <-events:
			if !isWaiting[key] {
				isWaiting[key] = true
				waiting = append(waiting, key)
			}
		case send <- next:
			waiting = waiting[1:]
			delete(isWaiting, next)
		case <-ctx.Done():
			return
		}
	}
}

var _ store.Watcher = (*etcdStore)(nil)
