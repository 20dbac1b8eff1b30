package kv

import (
	"context"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store"
)

// Source is one range of keys in etcd that a watch follows.
type Source struct {
	Key     string
	Options []clientv3.OpOption
	// Name returns the engine's key that an event concerns, "" for none.
	Name func(e *clientv3.Event) string
}

// Changes returns the source for a key that has the last changed key as its value.
func Changes(key string) Source {
	return Source{Key: key, Name: func(e *clientv3.Event) string { return string(e.Kv.Value) }}
}

// Watch sends the engine's keys with a prefix that change from now on. If etcd has compacted changes
// before they were sent, all keys of the store are sent. The channel is closed when ctx ends or the
// watch breaks, for instance because etcd has lost its majority.
func Watch(ctx context.Context, cli *clientv3.Client, all store.Store, prefix string,
	sources ...Source) (<-chan string, error) {
	if err := Check(cli, "watch", prefix); err != nil {
		return nil, err
	}
	w := &watch{cli: cli, all: all, prefix: prefix, events: make(chan string)}
	from, err := w.next(ctx, sources[0])
	if err != nil {
		return nil, Failed(cli, "watch", prefix, err)
	}
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	var following sync.WaitGroup
	for _, s := range sources {
		following.Go(func() {
			defer stop() // a part of the watch has ended, so all of it does
			w.follow(ctx, s, from)
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

// watch is one watch on the keys with a prefix.
type watch struct {
	cli    *clientv3.Client
	all    store.Store
	prefix string
	events chan string
}

// next returns the first revision after the present one.
func (w *watch) next(ctx context.Context, s Source) (int64, error) {
	res, err := w.cli.Get(ctx, s.Key)
	if err != nil {
		return 0, err
	}
	return res.Header.Revision + 1, nil
}

// follow sends the keys of a source that change from a revision on, until the watch breaks or ctx
// ends. If etcd has compacted that revision, changes may have been missed: then all keys are sent,
// and the watch continues from there.
func (w *watch) follow(ctx context.Context, s Source, from int64) {
	for {
		compacted := false
		for res := range w.cli.Watch(ctx, s.Key, append(s.Options, clientv3.WithRev(from))...) {
			if compacted = res.CompactRevision != 0; compacted {
				break
			}
			for _, e := range res.Events {
				w.send(ctx, s.Name(e))
			}
		}
		if !compacted || ctx.Err() != nil {
			return
		}
		var err error
		if from, err = w.next(ctx, s); err != nil {
			return
		}
		entries, err := w.all.List(ctx, w.prefix)
		if err != nil {
			return
		}
		for _, e := range entries {
			w.send(ctx, e.Key)
		}
	}
}

// send sends a key that has the watch's prefix.
func (w *watch) send(ctx context.Context, key string) {
	if key == "" || !strings.HasPrefix(key, w.prefix) {
		return
	}
	select {
	case w.events <- key:
	case <-ctx.Done():
	}
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
