// Package mixed is the store over etcd for a fleet that replaces the snowflake service on etcd, or
// runs next to its workers: logical nodes are the service's worker IDs. That service has its keys
// below /i3d/workers/, and IDs of Twitter's layout with the Unix epoch. Any other fleet needs package
// etcd only.
//
//	c, err := store.Open(ctx, mixed.New(cli, mixed.Config{}), store.Config{})
//	ids, err := c.CreateSequencer(ctx, mixed.Sequencer, sequencer.Config{
//		Epoch: epoch.UnixMilli(0), Layout: sequencer.Twitter(), // the service's
//	})
//
// # Keys
//
// The sequencer named "default" shares its nodes, if the client has no store.Config.Prefix. Next to
// its record, node n has the two keys of the service's worker n, with the same meaning:
//
//	/i3d/workers/live/<n>                decimal Unix ms of the claim; on a lease
//	/i3d/workers/last_reported_time/<n>  decimal Unix ms; never deleted
//	/i3d/snowgrid/...                    the keys of package etcd, which all other keys are
//
// A claim, a renewal and a return of a shared node are one transaction each, on the condition that
// the three keys have not changed since they were read. A claim creates the live key, so it has to
// be absent; a renewal keeps its lease alive; a return deletes it. The lease only gives an early
// sign that a holder is gone: etcd prolongs leases when its leader changes, and a paused process
// does not notice that its lease has ended. The record, not the lease, ensures that two holders
// never issue one ID: it states the timestamps that a holder may use, before the holder uses them.
//
// Only renewals keep a lease alive, so it ends with them. If a lease has ended, or an operator has
// deleted its live key, the record appears without a holder, and its holder attaches again.
//
// # Both directions
//
// Both sides claim by the absence of the same key, so no node has a holder and a worker. The reports
// separate them in time:
//
//   - A worker claims a node 3 s after the reported time at the earliest, and begins above it. So
//     last_reported_time has the last timestamp of a holder's grant, from before the holder uses
//     it, and after a return the last one used.
//   - A worker reports every 3 s, and stops if that takes more than 1 s. So a node that a worker
//     reported is taken 3 s after the reported time at the earliest, with IDs at least 4 s above it.
//
// A worker that is paused and resumed issues IDs until its next report, as it does without this
// package. When the last worker has gone, keep this package: it also reads what workers reported
// with clocks that were ahead.
package mixed

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/etcd/internal/kv"
	"github.com/snowgrid/snowgrid/client/store"
)

const (
	// DefaultPrefix is the service's prefix.
	DefaultPrefix = "/i3d/"
	// Sequencer is the name of the sequencer that shares its logical nodes.
	Sequencer = "default"
)

const (
	// reportPeriod is the interval at which a worker reports its last timestamp, and the time after a
	// report from which others may claim its node.
	reportPeriod = 3 * time.Second
	// reportLag is the maximum lead of a worker over its report: the period, and the second after
	// which it gives up.
	reportLag = reportPeriod + time.Second

	// window suits a worker's lease of 10 s, and its report every 3 s.
	window = 3 * reportPeriod
)

// Config configures [New].
type Config struct {
	// Prefix begins every key, as it is. Default: DefaultPrefix.
	Prefix string
}

// New returns a store that uses a client. A client of package store has a window of at most 9 s,
// which is the default here; a lease lasts a second more. The caller still owns the client, and closes
// it after the last use of the store. The result implements [store.Watcher] too.
func New(cli *clientv3.Client, cfg Config) store.Store {
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	at := layout(cfg.Prefix)
	return &mixedStore{plain: etcd.New(cli, etcd.Config{Prefix: at.plain()}), cli: cli, at: at, windowMax: window}
}

// mixedStore is a plain store, except for the records of shared nodes.
type mixedStore struct {
	plain     store.Store
	cli       *clientv3.Client
	at        layout
	windowMax time.Duration
	longest   longest
}

// String returns the store's name in messages.
func (s *mixedStore) String() string {
	return fmt.Sprintf("%v, shared with workers below %s", s.plain, s.at)
}

// DefaultWindow suggests a client's window.
func (s *mixedStore) DefaultWindow() time.Duration { return window }

func (s *mixedStore) Load(ctx context.Context, key string) (store.Entry, error) {
	p, shared := s.at.locate(key)
	if !shared || s.cli == nil {
		return s.plain.Load(ctx, key)
	}
	res, err := s.cli.Txn(ctx).Then(p.reads()...).Commit()
	if err != nil {
		return store.Entry{}, kv.Failed(s.cli, "load", key, err)
	}
	n := lastNode(res.Responses)
	if n.record == nil {
		return store.Entry{}, kv.Missing(key, p.record)
	}
	return n.entry(key, time.Now()), nil
}

func (s *mixedStore) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	found, err := s.plain.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	workers, err := s.cli.Get(ctx, s.at.workers(), clientv3.WithPrefix())
	if err != nil {
		return nil, kv.Failed(s.cli, "list", prefix, err)
	}
	beside := map[string]*mvccpb.KeyValue{}
	for _, at := range workers.Kvs {
		beside[string(at.Key)] = at
	}
	now := time.Now()
	for i, e := range found {
		// The keys may be newer than the record. A swap that is computed from it is refused then.
		if p, shared := s.at.locate(e.Key); shared {
			modified, err := strconv.ParseInt(string(e.Revision), 10, 64)
			if err != nil {
				return nil, err
			}
			at := &mvccpb.KeyValue{Value: e.Body, ModRevision: modified}
			found[i] = node{at, beside[p.reported], beside[p.live]}.entry(e.Key, now)
		}
	}
	return found, nil
}

// Watch implements [store.Watcher]. It reports every change except renewals and deletions, and that a
// live key has gone. The channel is also closed if etcd loses its majority.
func (s *mixedStore) Watch(ctx context.Context, prefix string) (<-chan string, error) {
	ended := kv.Source{
		Key: s.at.live(""), Options: []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithFilterPut()},
		Name: func(e *clientv3.Event) string { return s.at.keyOf(string(e.Kv.Key)) },
	}
	return kv.Watch(ctx, s.cli, s, prefix, kv.Changes(s.at.plain()), ended)
}

var _ store.Watcher = (*mixedStore)(nil)
