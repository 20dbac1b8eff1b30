// Package store issues unique IDs without a grid. It keeps one record for each
// logical node in a store that the user runs already: etcd, S3, a database, or a
// directory. A holder takes a record, extends it and returns it by
// compare-and-swap, and issues IDs only for the range of timestamps that the
// record is known to hold.
//
//	s, err := store.OpenFile("ids")
//	c, err := store.Open(ctx, s, store.Config{})
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
//	id, err := orders.Next(ctx)
//
// # Use
//
// [Open] checks that the store enforces conditional writes. CreateSequencer makes the sequencer's
// records if there are none, [Config].Pool of them, and waits for a free one. The client renews it
// in the background, each time for one [Config].Window. While the store is down, IDs are issued
// until the window has ended; then Next waits, and continues by itself. When a node is lost,
// because the store was down for too long or an operator retired it, the client takes another and
// calls [Config].OnLost.
//
// [Client.Leave] returns the nodes, so that the next process has them immediately. A node
// of a process that crashed is used again one window later.
//
// # Guarantees
//
// No two IDs of a sequencer are equal, despite any crashes, pauses, partitions and clock errors, as
// long as the store keeps the promises of [Store]. A store that may lose acknowledged writes
// implements [Generations]; with it the promise needs clocks that agree within [Config].MaxSkew
// and a true [Config].FailoverBound. Not covered are copies of a store,
// and records that are changed by anything but this package; a deleted record is damage, and
// [Client.Repair] is the remedy.
//
// [Client.Health] is for probes, [Client.Status] returns all records, [Client.Scale] changes the
// number of nodes, and [Client.Resume] is for processes that are frozen between two calls. The
// rules, with their reasons, are in DESIGN.md.
//
// The adapters for etcd, S3 and SQL are modules of their own.
package store

import (
	"context"
	"errors"
	"time"
)

// Revision names one state of one key. A store makes a new one for each write, and
// never repeats one for another body. "" stands for a key that does not exist.
type Revision string

// Entry is a key with its body, as it was read or is to be written.
type Entry struct {
	Key  string
	Body []byte // never empty when written
	// Revision is the state that was read, or the one that a write replaces; "" if
	// the key must not exist.
	Revision Revision
	// Meta repeats parts of the body for tools of the store. Keys are lower-case
	// letters. A store that has no place for it ignores it.
	Meta map[string]string
	// Renewal marks a write that only prolongs the grant of a record's present holder. A
	// Watcher need not report it.
	Renewal bool
}

// Errors from a Store. Adapters wrap them.
var (
	// ErrNoRecord means that a key does not exist.
	ErrNoRecord = errors.New("no record")
	// ErrChanged means that a key is not at the revision named in a write, and that the write has
	// had no effect and will have none.
	ErrChanged = errors.New("the record has changed")
)

// Store is an engine's interface: reads and writes of single keys, all of them linearizable. Keys
// are paths of up to 1,000 bytes, bodies up to 64 KiB.
type Store interface {
	// Load reads a key. Errors: ErrNoRecord.
	Load(ctx context.Context, key string) (Entry, error)
	// Swap writes an entry on the condition that the key is at the entry's revision,
	// and returns the new revision. ErrChanged means that it was surely not written;
	// after any other error it may have been, or may still be.
	Swap(ctx context.Context, e Entry) (Revision, error)
	// List reads all keys that begin with a prefix, in ascending order. Bodies may be
	// nil; then neither Revision nor Meta need be there. It may be older than Load.
	List(ctx context.Context, prefix string) ([]Entry, error)
}

// Watcher is implemented by a store that can report changes. The channel receives the keys that are
// changed by other writes than renewals, and is closed when the watch has broken or ctx has ended;
// keys may be missed, so it only triggers earlier reads.
type Watcher interface {
	Watch(ctx context.Context, prefix string) (<-chan string, error)
}

// Dated is implemented by a store that includes its own clock in replies. Within bounds the error
// of now; known is false before the first reply.
type Dated interface {
	Time() (now time.Time, within time.Duration, known bool)
}

// Generations is implemented by a store whose server may be replaced by one that lacks
// acknowledged writes, such as an asynchronous replica.
type Generations interface {
	// Generation names the server that answers now. It differs after each failover.
	// lossy reports whether a failover can lose acknowledged writes as the server is
	// set up.
	Generation(ctx context.Context) (id string, lossy bool, err error)
	// SwapIn is Swap with one more condition, which the server compares in the same
	// operation: that its generation is the given one. ErrChanged if it is not.
	SwapIn(ctx context.Context, e Entry, generation string) (Revision, error)
}
