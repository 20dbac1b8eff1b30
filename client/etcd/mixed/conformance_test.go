package mixed_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
)

// TestConformance: the store keeps the promises that package store needs, also for shared nodes.
func TestConformance(t *testing.T) {
	s, prefix := etcdtest.Shared(t), etcdtest.Prefix(t)
	storetest.Run(t, func() store.Store {
		return &folders{cli: etcdtest.Connect(t, s), prefix: prefix, stores: map[string]store.Store{}}
	})
}

// folders has a store for each folder of the suite, since only one sequencer of a store shares its
// nodes. There the suite's sequencer, orders, has the name of that one.
type folders struct {
	cli    *clientv3.Client
	prefix string

	mu     sync.Mutex
	stores map[string]store.Store
}

// at returns the store for a key or prefix, and the key there.
func (f *folders) at(key string) (s store.Store, folder, inside string) {
	if at := strings.IndexByte(key, '/'); at >= 0 {
		folder, inside = key[:at+1], key[at+1:]
	} else {
		inside = key
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stores[folder] == nil {
		f.stores[folder] = mixed.WithWindows(mixed.New(f.cli, mixed.Config{Prefix: f.prefix + folder}), time.Hour)
	}
	if rest, is := strings.CutPrefix(inside, "orders/"); is {
		inside = mixed.Sequencer + "/" + rest
	}
	return f.stores[folder], folder, inside
}

// outside returns the suite's key for one inside a folder.
func outside(folder, key string) string {
	if rest, is := strings.CutPrefix(key, mixed.Sequencer+"/"); is {
		key = "orders/" + rest
	}
	return folder + key
}

// Load implements store.Store.
func (f *folders) Load(ctx context.Context, key string) (store.Entry, error) {
	s, _, inside := f.at(key)
	e, err := s.Load(ctx, inside)
	if err == nil {
		e.Key = key
	}
	return e, err
}

// Swap implements store.Store.
func (f *folders) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	s, _, inside := f.at(e.Key)
	e.Key = inside
	return s.Swap(ctx, e)
}

// List implements store.Store.
func (f *folders) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	s, folder, inside := f.at(prefix)
	all, err := s.List(ctx, inside)
	for i := range all {
		all[i].Key = outside(folder, all[i].Key)
	}
	return all, err
}

// Watch implements store.Watcher.
func (f *folders) Watch(ctx context.Context, prefix string) (<-chan string, error) {
	s, folder, inside := f.at(prefix)
	changes, err := s.(store.Watcher).Watch(ctx, inside)
	if err != nil {
		return nil, err
	}
	out := make(chan string)
	go func() {
		defer close(out)
		for key := range changes {
			select {
			case out <- outside(folder, key):
			case <-ctx.Done():
			}
		}
	}()
	return out, nil
}

// Delete implements storetest.Deleter.
func (f *folders) Delete(ctx context.Context, key string) error {
	_, folder, inside := f.at(key)
	_, err := f.cli.Delete(ctx, f.prefix+folder+"snowgrid/"+inside)
	return err
}
