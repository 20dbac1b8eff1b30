package etcd

import (
	"context"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store/record"
)

// Watch implements [store.Watcher]. It tells of every change of a key but the renewals of
// records, among them the end of a lease. The channel is closed as well if etcd loses its
// majority.
func (s *etcdStore) Watch(ctx context.Context, prefix string) (<-chan string, error) {
	if err := s.usable("watch", prefix); err != nil {
		return nil, err
	}
	start, err := s.cli.Get(ctx, string(s.at), clientv3.WithCountOnly()) // the revision of now
	if err != nil {
		return nil, failed("watch", prefix, err)
	}
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	w := &watch{s: s, prefix: prefix, events: make(chan string), holders: map[string]string{}}
	var following sync.WaitGroup
	for _, r := range s.at.ranges(prefix) {
		following.Go(func() {
			defer stop() // a part of the watch has ended, so all of it does
			w.follow(ctx, r, start.Header.Revision+1)
		})
	}
	out := make(chan string)
	go func() {
		defer close(out)
		defer following.Wait()
		defer stop()
		deliver(ctx, w.events, out)
	}()
	return out, nil
}

// watch is one watch of the keys that belong to a prefix.
type watch struct {
	s      *etcdStore
	prefix string
	events chan string

	mu sync.Mutex
	// holders has the last known holder of each record, to tell renewals from changes.
	holders map[string]string
}

// follow sends the keys of a range that change from a revision on, until the watch breaks
// or ctx ends. If etcd has compacted that revision, changes may have been missed: then all
// keys of the range are sent, and the watch continues from there.
func (w *watch) follow(ctx context.Context, prefix string, from int64) {
	for {
		compacted := false
		for res := range w.s.cli.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(from)) {
			if compacted = res.CompactRevision != 0; compacted {
				break
			}
			for _, e := range res.Events {
				w.send(ctx, e.Kv, e.Type == mvccpb.DELETE)
			}
		}
		if !compacted || ctx.Err() != nil {
			return
		}
		all, err := w.s.cli.Get(ctx, prefix, clientv3.WithPrefix())
		if err != nil {
			return
		}
		w.forgetHolders()
		for _, kv := range all.Kvs {
			w.send(ctx, kv, false)
		}
		from = all.Header.Revision + 1
	}
}

// send sends the key to which a key of etcd belongs.
func (w *watch) send(ctx context.Context, kv *mvccpb.KeyValue, deleted bool) {
	key, ok := w.s.at.keyOf(string(kv.Key))
	if !ok || !strings.HasPrefix(key, w.prefix) {
		return
	}
	p := w.s.at.locate(key)
	switch string(kv.Key) {
	case p.reported:
		return // written with each renewal
	case p.path:
		if p.isRecord() && !w.isNewHolder(key, kv, deleted) {
			return
		}
	}
	select {
	case w.events <- key:
	case <-ctx.Done():
	}
}

// isNewHolder reports whether a record has another holder than it was last seen with, or
// has none.
func (w *watch) isNewHolder(key string, kv *mvccpb.KeyValue, deleted bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.holders[key]
	delete(w.holders, key)
	if deleted {
		return true
	}
	r, err := record.Decode(kv.Value, nil)
	if err != nil || r.State != record.Held {
		return true
	}
	now := r.Attachment.String()
	w.holders[key] = now
	return now != before
}

// forgetHolders makes the next change of every record count.
func (w *watch) forgetHolders() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.holders)
}

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
