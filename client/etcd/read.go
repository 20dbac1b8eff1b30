package etcd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store"
)

// Load implements [store.Store].
func (s *etcdStore) Load(ctx context.Context, key string) (store.Entry, error) {
	if err := s.named("load", key); err != nil {
		return store.Entry{}, err
	}
	p := s.at.locate(key)
	ops := []clientv3.Op{clientv3.OpGet(p.path)}
	if p.isRecord() {
		ops = p.reads()
	}
	res, err := s.cli.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return store.Entry{}, failed("load", key, err)
	}
	body := firstOf(res.Responses[0])
	switch {
	case body == nil:
		return store.Entry{}, fmt.Errorf("etcd: load %q: %q does not exist: %w", key, p.path, store.ErrNoRecord)
	case p.isRecord():
		return lastNode(res.Responses).entry(key, time.Now()), nil
	}
	return otherEntry(key, body), nil
}

// List implements [store.Store]. The result is one consistent snapshot.
func (s *etcdStore) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	if err := s.usable("list", prefix); err != nil {
		return nil, err
	}
	all, _, err := s.list(ctx, prefix)
	return all, err
}

// list reads all keys with a prefix, and etcd's revision at that moment.
func (s *etcdStore) list(ctx context.Context, prefix string) ([]store.Entry, int64, error) {
	var ops []clientv3.Op
	for _, r := range s.at.ranges(prefix) {
		ops = append(ops, clientv3.OpGet(r, clientv3.WithPrefix()))
	}
	res, err := s.cli.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return nil, 0, failed("list", prefix, err)
	}
	nodes, found := map[string]*node{}, map[string]store.Entry{}
	for _, r := range res.Responses {
		for _, kv := range r.GetResponseRange().GetKvs() {
			s.sort(kv, prefix, nodes, found)
		}
	}
	now := time.Now()
	for key, n := range nodes {
		if n.record != nil {
			found[key] = n.entry(key, now)
		}
	}
	out := make([]store.Entry, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out, res.Header.Revision, nil
}

// sort adds an etcd key to the node or to the entries to which it belongs.
func (s *etcdStore) sort(kv *mvccpb.KeyValue, prefix string, nodes map[string]*node, found map[string]store.Entry) {
	path := string(kv.Key)
	key, ok := s.at.keyOf(path)
	if !ok || !strings.HasPrefix(key, prefix) {
		return
	}
	p := s.at.locate(key)
	if !p.isRecord() {
		found[key] = otherEntry(key, kv)
		return
	}
	n := nodes[key]
	if n == nil {
		n = &node{}
		nodes[key] = n
	}
	switch path {
	case p.path:
		n.record = kv
	case p.live:
		n.live = kv
	case p.reported:
		n.reported = kv
	}
}

// otherEntry returns a key that is not a record.
func otherEntry(key string, kv *mvccpb.KeyValue) store.Entry {
	return store.Entry{Key: key, Body: kv.Value, Revision: otherRevision(kv.ModRevision)}
}
