// Package etcd keeps the records of package store in etcd, through the user's client:
//
//	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
//	c, err := store.Open(ctx, etcd.New(cli, etcd.Config{}), store.Config{})
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
//	id, err := orders.Next(ctx)
//
// # Keys
//
// Below the prefix a sequencer has three keys for each logical node n, a definition and a marker.
// The sequencer named "default" has them directly below the prefix, where workers of the snowflake
// service on etcd have theirs, and any other below sequencers/<name>/:
//
//	workers/live/<n>                decimal Unix ms of the claim; on a lease
//	workers/last_reported_time/<n>  decimal Unix ms of the last ID; never deleted
//	workers/granted/<n>             the record of package record; never deleted
//	sequencer.json                  the definition
//	node-ids-initialized            written when all records exist
//
// All of them share one more key, changes, which notifies clients of each other's writes.
//
// A claim, a renewal and a return are one transaction each. A claim requires that live does not
// exist and that the record is unchanged since it was read; a renewal, that live is on the holder's
// own lease and that the record is unchanged; a return, that the record is unchanged, and it
// deletes live. The lease only gives an early sign that a holder is gone: etcd prolongs leases when
// its leader changes, and a paused process does not notice that its lease has ended. The record,
// not the lease, ensures that two holders never issue one ID: it states the timestamps that a
// holder may use, before the holder uses them.
//
// Only the renewals of its record keep a lease alive, so it ends with them. If a lease has ended,
// or an operator has deleted its live key, the record appears without a holder, and its holder
// attaches again.
//
// # Errors
//
// A transaction with a failed condition was not written. Any other error leaves the outcome open.
// clientv3 repeats a write by itself only if it was surely not sent, or if the server answered with
// the status for a canceled or late call; then the condition fails because of the first write. So
// after a failed condition the stored body is compared with the sent one. They are equal only if it
// was this very write: bodies have nonces.
//
// # Original workers
//
// A mixed fleet shares the nodes of "default". Both sides claim by the absence of the same key, so
// no node has a worker from both. A node that an original worker reported is taken no sooner than 3
// s after the reported time, and with IDs at least 4 s above it: such a worker reports every 3 s,
// and stops if that takes more than 1 s. The other direction requires [Config].CompatMixed. An
// original worker that is paused and resumed issues IDs until its next report, as it does without
// this package.
package etcd

import (
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/store"
)

// DefaultPrefix is the original workers' prefix.
const DefaultPrefix = "/i3d/"

const (
	// reportPeriod is the interval at which an original worker reports its last timestamp, and the
	// time after a report from which others may claim its node.
	reportPeriod = 3 * time.Second
	// reportLag is the maximum lead of an original worker over its report: the period, and the
	// second after which it gives up.
	reportLag = reportPeriod + time.Second

	// window suits a lease of 10 s and a renewal every 3 s.
	window = 3 * reportPeriod
	// leaseMargin is the time by which a lease is longer than a window.
	leaseMargin = time.Second
)

// Config configures [New].
type Config struct {
	// Prefix begins every key, as it is. Default: DefaultPrefix.
	Prefix string
	// TTL is the minimum time to live for a lease, in whole seconds. Default, and minimum: one
	// second more than the client's window, so 10 s for the window of 9 s that this store suggests.
	// etcd may grant a longer one.
	TTL time.Duration
	// CompatMixed allows original workers at the same time: last_reported_time then has the end of
	// a holder's grant instead of the last ID's time, so that an original worker that claims the
	// node starts above the grant. The window is then at most 9 s.
	CompatMixed bool
}

// New returns a store that uses a client. The caller still owns the client, and closes it after the
// last use of the store. The result implements [store.Watcher] too.
func New(cli *clientv3.Client, cfg Config) store.Store {
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	return &etcdStore{cli: cli, cfg: cfg, at: layout(cfg.Prefix), leases: leases{held: map[holding]lease{}}}
}

type etcdStore struct {
	cli    *clientv3.Client
	cfg    Config
	at     layout
	leases leases
}

// String returns the store's name in messages.
func (s *etcdStore) String() string {
	if s.cli == nil {
		return "etcd without a client"
	}
	return fmt.Sprintf("etcd at %s, prefix %s", strings.Join(s.cli.Endpoints(), ", "), s.at)
}

// DefaultWindow suggests a client's window: a renewal every three seconds.
func (s *etcdStore) DefaultWindow() time.Duration { return window }
