package etcd_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

// aNode is one record in etcd, with the clock that its holders have.
type aNode struct {
	t      *testing.T
	cli    *clientv3.Client
	prefix string
	cfg    etcd.Config
	key    string
	now    time.Time
	window time.Duration
}

// life is that of all records in these tests.
var life = record.NewLife(1, [8]byte{7})

// newNode writes a record that no attachment has held.
func newNode(t *testing.T, cfg etcd.Config) *aNode {
	t.Helper()
	cfg.Prefix = prefixOf(t)
	n := &aNode{t: t, cli: connect(t, anEtcd(t)), prefix: cfg.Prefix, cfg: cfg, key: "default/0.json", now: time.Now(),
		window: 2 * time.Second}
	n.swap(n.store(), store.Entry{Key: n.key, Body: record.Born(life, nonce()).Encode()})
	return n
}

// store returns another store over the same keys, as another process has it.
func (n *aNode) store() store.Store { return etcd.New(n.cli, n.cfg) }

func (n *aNode) bounds() record.Bounds {
	return record.Bounds{Now: clustertime.Tick(n.now.UnixMilli()), Window: clustertime.SpanOf(n.window), Life: life}
}

func (n *aNode) load(s store.Store) (store.Entry, record.Record) {
	n.t.Helper()
	e, err := s.Load(n.t.Context(), n.key)
	if err != nil {
		n.t.Fatal(err)
	}
	r, err := record.Decode(e.Body, e.Meta)
	if err != nil {
		n.t.Fatal(err)
	}
	return e, r
}

func (n *aNode) swap(s store.Store, e store.Entry) store.Entry {
	n.t.Helper()
	rev, err := s.Swap(n.t.Context(), e)
	if err != nil {
		n.t.Fatal(err)
	}
	e.Revision = rev
	return e
}

// refused fails unless a swap is refused as surely not written.
func (n *aNode) refused(s store.Store, e store.Entry, why string) {
	n.t.Helper()
	if rev, err := s.Swap(n.t.Context(), e); !errors.Is(err, store.ErrChanged) {
		n.t.Fatalf("%s: swapped to revision %q, %v; want ErrChanged", why, rev, err)
	}
}

// taken returns the entry with which an attachment takes the record.
func (n *aNode) taken(e store.Entry, r record.Record, id attachment.ID) store.Entry {
	n.t.Helper()
	next, err := r.Take(id, "task", nonce(), n.bounds())
	return n.next(e, next, err)
}

// extended returns the entry with which an attachment extends the record.
func (n *aNode) extended(e store.Entry, r record.Record, id attachment.ID) store.Entry {
	n.t.Helper()
	next, err := r.Extend(id, nil, nonce(), n.bounds())
	return n.next(e, next, err)
}

func (n *aNode) next(e store.Entry, r record.Record, err error) store.Entry {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
	return store.Entry{Key: e.Key, Body: r.Encode(), Revision: e.Revision}
}

// take takes the record for a new attachment.
func (n *aNode) take(s store.Store) attachment.ID {
	n.t.Helper()
	id := newAttachment()
	e, r := n.load(s)
	n.swap(s, n.taken(e, r, id))
	return id
}

// extend extends the record.
func (n *aNode) extend(s store.Store, id attachment.ID) {
	n.t.Helper()
	e, r := n.load(s)
	n.swap(s, n.extended(e, r, id))
}

// giveBack returns the record, with the last time that was used.
func (n *aNode) giveBack(s store.Store, id attachment.ID, used clustertime.Tick) {
	n.t.Helper()
	e, r := n.load(s)
	next, held := r.Return(attachment.Release{ID: id, LastUsed: used}, nonce())
	if !held {
		n.t.Fatalf("%v does not hold the record: %+v", id, r)
	}
	n.swap(s, n.next(e, next, nil))
}

// path returns a key of the node, such as live.
func (n *aNode) path(dir string) string { return n.prefix + "workers/" + dir + "/0" }

// report returns last_reported_time, 0 if there is none.
func (n *aNode) report() clustertime.Tick {
	n.t.Helper()
	text := value(n.t, n.cli, n.path("last_reported_time"))
	if text == "" {
		return 0
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n.t.Fatal(err)
	}
	return clustertime.Tick(ms)
}

// put writes a key as a worker of the original does.
func (n *aNode) put(dir, value string, opts ...clientv3.OpOption) {
	n.t.Helper()
	if _, err := n.cli.Put(n.t.Context(), n.path(dir), value, opts...); err != nil {
		n.t.Fatal(err)
	}
}

// lease returns the lease of the live key, 0 if there is none.
func (n *aNode) lease() clientv3.LeaseID {
	n.t.Helper()
	got, err := n.cli.Get(n.t.Context(), n.path("live"))
	if err != nil {
		n.t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return 0
	}
	return clientv3.LeaseID(got.Kvs[0].Lease)
}

func newAttachment() (id attachment.ID) {
	_, _ = rand.Read(id[:])
	return id
}

func nonce() string { return rand.Text() }

func tick(t time.Time) clustertime.Tick { return clustertime.Tick(t.UnixMilli()) }

func millis(t time.Time) string { return fmt.Sprint(t.UnixMilli()) }
