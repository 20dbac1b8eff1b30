// Package etcd keeps the records of package store in etcd, through the user's client:
//
//	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
//	c, err := store.Open(ctx, etcd.New(cli, etcd.Config{}), store.Config{})
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
//	id, err := orders.Next(ctx)
//
// Package mixed, below this one, is for a fleet that comes from the snowflake service on etcd, or
// runs next to its workers.
//
// # Keys
//
// Each of the engine's keys is one key in etcd, below the prefix:
//
//	/snowgrid/orders/sequencer.json        the definition
//	/snowgrid/orders/node-ids-initialized  written when all records exist
//	/snowgrid/orders/7.json                the record of logical node 7
//	/snowgrid/probe.json                   the probe of conditions when a client starts
//	/snowgrid/                             the key that changed last, without the prefix
//
// A write is one transaction on the condition that the key has the ModRevision that was read, or
// does not exist. etcd never repeats a revision, so a key that was changed and changed back has
// another one. No key has a lease: a crashed holder's node is free when its record's window has
// ended, and the record ensures that two holders never issue one ID.
//
// # Changes
//
// Each holder renews its record every few seconds, so a watch on the records would send every
// renewal to every client. Instead each transaction, unless its entry is a Renewal, also puts the
// changed key into the key that is the prefix itself, and a client watches that one key. No key of
// the engine is empty, so none is at its place. A deletion, which no client makes, is noticed by the
// next read.
//
// # Errors
//
// A transaction with a failed condition was not written. Any other error leaves the outcome open.
// clientv3 repeats a write by itself only if it was surely not sent, or if the server answered with
// the status for a canceled or late call; then the condition fails because of the first write. So
// after a failed condition the stored body is compared with the sent one. They are equal only if it
// was this very write: bodies have nonces.
package etcd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/kv"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// DefaultPrefix begins every key unless the configuration has another prefix.
const DefaultPrefix = "/snowgrid/"

// window is the default of a client's window. etcd carries many renewals every three seconds.
const window = 9 * time.Second

// Config configures [New].
type Config struct {
	// Prefix begins every key, as it is. Default: DefaultPrefix.
	Prefix string
}

// New returns a store that uses a client. The caller still owns the client, and closes it after the
// last use of the store. The result implements [store.Watcher] too.
func New(cli *clientv3.Client, cfg Config) store.Store {
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	return &etcdStore{cli: cli, prefix: cfg.Prefix}
}

type etcdStore struct {
	cli    *clientv3.Client
	prefix string
}

// String returns the store's name in messages.
func (s *etcdStore) String() string {
	if s.cli == nil {
		return "etcd without a client"
	}
	return fmt.Sprintf("etcd at %s, prefix %s", strings.Join(s.cli.Endpoints(), ", "), s.prefix)
}

// DefaultWindow suggests a client's window: a renewal every three seconds.
func (s *etcdStore) DefaultWindow() time.Duration { return window }

func (s *etcdStore) Load(ctx context.Context, key string) (store.Entry, error) {
	if err := kv.CheckKey(s.cli, "load", key); err != nil {
		return store.Entry{}, err
	}
	res, err := s.cli.Get(ctx, s.prefix+key)
	if err != nil {
		return store.Entry{}, kv.Failed(s.cli, "load", key, err)
	}
	if len(res.Kvs) == 0 {
		return store.Entry{}, kv.Missing(key, s.prefix+key)
	}
	return store.Entry{Key: key, Body: res.Kvs[0].Value, Revision: revision(res.Kvs[0].ModRevision)}, nil
}

// List implements [store.Store]. The result is one consistent snapshot.
func (s *etcdStore) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	if err := kv.Check(s.cli, "list", prefix); err != nil {
		return nil, err
	}
	res, err := s.cli.Get(ctx, s.prefix+prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, kv.Failed(s.cli, "list", prefix, err)
	}
	found := make([]store.Entry, 0, len(res.Kvs))
	for _, at := range res.Kvs {
		if key := string(at.Key[len(s.prefix):]); key != "" {
			found = append(found, store.Entry{Key: key, Body: at.Value, Revision: revision(at.ModRevision)})
		}
	}
	return found, nil
}

func (s *etcdStore) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	if len(e.Body) == 0 && e.Key != "" {
		return "", failure.Errorf(sequencer.ErrInvalidConfig, "etcd: swap %q: the body is empty; give at least a nonce",
			e.Key)
	}
	if err := kv.CheckKey(s.cli, "swap", e.Key); err != nil {
		return "", err
	}
	seen, ok := parseRevision(e.Revision)
	if !ok {
		return "", kv.Changed("swap", e.Key, "revision %q is not one of etcd", e.Revision)
	}
	path := s.prefix + e.Key
	writes := []clientv3.Op{clientv3.OpPut(path, string(e.Body))}
	if !e.Renewal {
		writes = append(writes, clientv3.OpPut(s.prefix, e.Key))
	}
	res, err := s.cli.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(path), "=", seen)).
		Then(writes...).
		Else(clientv3.OpGet(path)).
		Commit()
	if err != nil {
		return "", kv.Failed(s.cli, "swap", e.Key, err)
	}
	if res.Succeeded {
		return revision(res.Header.Revision), nil
	}
	now := kv.First(res.Responses[0])
	if now != nil && kv.IsWrite(now.Value, e.Body) {
		return revision(now.ModRevision), nil
	}
	return "", kv.Changed("swap", e.Key, "it is not at revision %q", e.Revision)
}

// Watch implements [store.Watcher]. It reports every change except renewals and deletions. The
// channel is also closed if etcd loses its majority.
func (s *etcdStore) Watch(ctx context.Context, prefix string) (<-chan string, error) {
	return kv.Watch(ctx, s.cli, s, prefix, kv.Changes(s.prefix))
}

// revision returns the text of a key's ModRevision.
func revision(modified int64) store.Revision {
	return store.Revision(strconv.FormatInt(modified, 10))
}

// parseRevision returns the ModRevision that a key must have, 0 if it must not exist.
func parseRevision(text store.Revision) (modified int64, ok bool) {
	if text == "" {
		return 0, true
	}
	modified, err := strconv.ParseInt(string(text), 10, 64)
	return modified, err == nil && modified > 0 && revision(modified) == text
}

var _ store.Watcher = (*etcdStore)(nil)
