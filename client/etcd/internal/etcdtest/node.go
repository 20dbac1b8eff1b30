package etcdtest

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

// Kind is one of the two stores.
type Kind struct {
	Name string
	// Prefix is the default prefix.
	Prefix string
	// Open returns a store over keys with a prefix, "" for the default.
	Open func(cli *clientv3.Client, prefix string) store.Store
}

// Plain is the store of package etcd.
var Plain = Kind{Name: "etcd", Prefix: etcd.DefaultPrefix,
	Open: func(cli *clientv3.Client, prefix string) store.Store {
		return etcd.New(cli, etcd.Config{Prefix: prefix})
	}}

// Node is one record in etcd, with the clock that its holders have.
type Node struct {
	*testing.T
	Kind   Kind
	Cli    *clientv3.Client
	Prefix string
	Key    string
	Now    time.Time
	Window time.Duration
}

// Life is the life of every record in these tests.
var Life = record.NewLife(1, [8]byte{7})

// NewNode writes a record that no attachment has held, on the shared server.
func NewNode(t *testing.T, k Kind) *Node {
	t.Helper()
	n := &Node{T: t, Kind: k, Cli: Connect(t, Shared(t)), Prefix: Prefix(t), Key: "default/0.json", Now: time.Now(),
		Window: 2 * time.Second}
	n.Create()
	return n
}

// Create writes the record.
func (n *Node) Create() store.Entry {
	n.Helper()
	return n.Swap(n.Store(), store.Entry{Key: n.Key, Body: record.Born(Life, Nonce()).Encode()})
}

// Store returns another store over the same keys, as another process has it.
func (n *Node) Store() store.Store { return n.Kind.Open(n.Cli, n.Prefix) }

// Bounds returns the bounds of a holder at Now.
func (n *Node) Bounds() record.Bounds {
	return record.Bounds{Now: Tick(n.Now), Window: clustertime.SpanOf(n.Window), Life: Life}
}

// Load reads the record.
func (n *Node) Load(s store.Store) (store.Entry, record.Record) {
	n.Helper()
	e, err := s.Load(n.Context(), n.Key)
	if err != nil {
		n.Fatal(err)
	}
	r, err := record.Decode(e.Body, e.Meta)
	if err != nil {
		n.Fatal(err)
	}
	return e, r
}

// Swap writes an entry, and returns it with its new revision.
func (n *Node) Swap(s store.Store, e store.Entry) store.Entry {
	n.Helper()
	rev, err := s.Swap(n.Context(), e)
	if err != nil {
		n.Fatal(err)
	}
	e.Revision = rev
	return e
}

// Refused fails unless a swap is refused as surely not written.
func (n *Node) Refused(s store.Store, e store.Entry, why string) {
	n.Helper()
	if rev, err := s.Swap(n.Context(), e); !errors.Is(err, store.ErrChanged) {
		n.Fatalf("%s: swapped to revision %q, %v; want ErrChanged", why, rev, err)
	}
}

// Taken returns the entry with which an attachment takes the record.
func (n *Node) Taken(e store.Entry, r record.Record, id attachment.ID) store.Entry {
	n.Helper()
	next, err := r.Take(id, "task", Nonce(), n.Bounds())
	return n.Next(e, next, err)
}

// Extended returns the entry with which an attachment extends the record.
func (n *Node) Extended(e store.Entry, r record.Record, id attachment.ID) store.Entry {
	n.Helper()
	next, err := r.Extend(id, nil, Nonce(), n.Bounds())
	extended := n.Next(e, next, err)
	extended.Renewal = true
	return extended
}

// Next returns the entry with which a record replaces another.
func (n *Node) Next(e store.Entry, r record.Record, err error) store.Entry {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
	return store.Entry{Key: e.Key, Body: r.Encode(), Revision: e.Revision}
}

// Take takes the record for a new attachment.
func (n *Node) Take(s store.Store) attachment.ID {
	n.Helper()
	id := NewAttachment()
	e, r := n.Load(s)
	n.Swap(s, n.Taken(e, r, id))
	return id
}

// Extend extends the record.
func (n *Node) Extend(s store.Store, id attachment.ID) {
	n.Helper()
	e, r := n.Load(s)
	n.Swap(s, n.Extended(e, r, id))
}

// GiveBack returns the record, with the last time that was used.
func (n *Node) GiveBack(s store.Store, id attachment.ID, used clustertime.Tick) {
	n.Helper()
	e, r := n.Load(s)
	next, held := r.Return(attachment.Release{ID: id, LastUsed: used}, Nonce())
	if !held {
		n.Fatalf("%v does not hold the record: %+v", id, r)
	}
	n.Swap(s, n.Next(e, next, nil))
}

// NewAttachment returns an attachment.
func NewAttachment() (id attachment.ID) {
	_, _ = rand.Read(id[:])
	return id
}

// Nonce returns a nonce.
func Nonce() string { return rand.Text() }

// Tick returns a time in ticks.
func Tick(t time.Time) clustertime.Tick { return clustertime.Tick(t.UnixMilli()) }
