package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	// fleetWindow is the window of clients under test. In a safeWindow no client of a busy
	// machine is late with a renewal, and a longWindow outlives a check.
	fleetWindow = 1500 * time.Millisecond
	safeWindow  = 3 * time.Second
	longWindow  = 5 * time.Minute
	// soon bounds a check's wait for an action that takes a working client a few windows. A store
	// may have its own limits, such as a lease of many seconds.
	soon = 40 * time.Second

	fleetName = "orders"
)

// fleet is a check of clients over one store, with every ID that they issued.
type fleet struct {
	*bench
	window time.Duration
	pool   int

	mu      sync.Mutex
	clients int
	ids     map[sequencer.ID]int
	ticks   map[tick]int // which client used a millisecond of a logical node
	late    int          // losses of nodes that were not renewed in time
}

// tick is a millisecond of a logical node. All its IDs belong to one client.
type tick struct {
	node sequencer.NodeID
	ms   int64
}

// client is one process in a fleet.
type client struct {
	*store.Client
	f      *fleet
	number int
	faulty *Faulty      // the store as this client sees it
	skew   atomic.Int64 // how far its clock is ahead, ns
	handle *sequencer.Sequencer
	last   sequencer.ID // of handle
}

// open opens a client over a store that injects faults, none at first.
func (f *fleet) open() *client {
	f.Helper()
	c := f.prepare()
	c.faulty = NewFaulty(f.handle(c.number), uint64(c.number))
	return f.start(c, c.faulty)
}

// openPlain opens a client over the store itself, with its optional interfaces.
func (f *fleet) openPlain() *client {
	f.Helper()
	c := f.prepare()
	return f.start(c, f.handle(c.number))
}

func (f *fleet) prepare() *client {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients++
	return &client{f: f, number: f.clients}
}

func (f *fleet) handle(number int) store.Store {
	if number%2 == 0 {
		return f.other
	}
	return f.store
}

func (f *fleet) start(c *client, s store.Store) *client {
	f.Helper()
	var err error
	if c.Client, err = store.Open(f.ctx, s, f.config(c, s)); err != nil {
		f.Fatalf("open of client %d: %v", c.number, err)
	}
	f.Cleanup(func() { _ = c.Close() })
	return c
}

// refused requires that a client of a store is refused when it is opened.
func (f *fleet) refused(c *client, s store.Store, why string) {
	f.Helper()
	opened, err := store.Open(f.within(soon), s, f.config(c, s))
	if err == nil {
		_ = opened.Close()
	}
	if !errors.Is(err, sequencer.ErrInvalidConfig) {
		f.Errorf("open %s: %v", why, err)
	}
}

func (f *fleet) config(c *client, s store.Store) store.Config {
	cfg := store.Config{
		Prefix: f.folder, Pool: f.pool, Window: f.window, AcquireMaxDelay: 300 * time.Millisecond,
		Clock:  func() time.Time { return time.Now().Add(time.Duration(c.skew.Load())) },
		OnLost: f.noteLoss,
	}
	if g, may := s.(store.Generations); may {
		if _, lossy, err := g.Generation(f.ctx); err == nil && lossy {
			cfg.FailoverBound, cfg.MaxSkew = 100*time.Millisecond, 100*time.Millisecond
		}
	}
	return cfg
}

// noteLoss records the loss of a node that was not renewed in time.
func (f *fleet) noteLoss(l store.Loss) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(l.Cause, record.ErrExpired) || time.Now().After(l.Until) {
		f.late++
	}
}

// mustWait requires the error for a client without a free node. On a busy machine a holder may fail
// to renew in time, which frees a node.
func (f *fleet) mustWait(c *client, err error) {
	f.Helper()
	switch {
	case err == nil:
		f.await("the former holder of a node that was taken reports that it was late", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.late > 0
		})
		f.Logf("client %d has the node of a holder that was late", c.number)
	case !errors.Is(err, sequencer.ErrNoFreeNode) && !errors.Is(err, sequencer.ErrUnavailable):
		f.Errorf("client %d, which had to wait: %v", c.number, err)
	}
}

// within returns a context that ends after d.
func (f *fleet) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(f.ctx, d)
	f.Cleanup(cancel)
	return ctx
}

// attach takes a logical node, which must come soon.
func (c *client) attach() *sequencer.Sequencer {
	c.f.Helper()
	s, err := c.CreateSequencer(c.f.within(soon), fleetName, sequencer.Config{})
	if err != nil {
		c.f.Fatalf("client %d: create: %v", c.number, err)
	}
	return s
}

// note records an ID, which must be new and above the last one of its handle.
func (c *client) note(s *sequencer.Sequencer, id sequencer.ID) {
	f, parts := c.f, s.Definition().Decompose(id)
	at := tick{parts.Node, parts.Time.UnixMilli()}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other, is := f.ids[id]; is {
		f.Errorf("ID %d was issued by client %d and by client %d", id, other, c.number)
	}
	if other, is := f.ticks[at]; is && other != c.number {
		f.Errorf("node %d at %v was used by client %d and by client %d", at.node, parts.Time, other, c.number)
	}
	if id <= c.last && s == c.handle {
		f.Errorf("client %d: ID %d follows %d", c.number, id, c.last)
	}
	f.ids[id], f.ticks[at], c.handle, c.last = c.number, c.number, s, id
}

// take takes n IDs, which must come soon.
func (c *client) take(s *sequencer.Sequencer, n int) {
	c.f.Helper()
	ctx := c.f.within(soon)
	for range n {
		id, err := s.Next(ctx)
		if err != nil {
			c.f.Fatalf("client %d: next: %v", c.number, err)
		}
		c.note(s, id)
	}
}

// next takes one ID within a window, and records it.
func (c *client) next(s *sequencer.Sequencer) error {
	id, err := s.Next(c.f.within(c.f.window))
	if err == nil {
		c.note(s, id)
	}
	return err
}

// work takes and returns a logical node until ctx ends, and uses each for some time. It returns the number of IDs.
func (c *client) work(ctx context.Context, each time.Duration) (n int) {
	for ctx.Err() == nil {
		s, err := c.CreateSequencer(ctx, fleetName, sequencer.Config{})
		if err != nil {
			c.promised(err)
			continue
		}
		some, enough := context.WithTimeout(ctx, each)
		n += c.run(some, s)
		enough()
		_ = c.Forget(ctx, fleetName) // It is returned in the background too.
	}
	return n
}

// Pace of run: so many IDs, then a pause, so that many clients fit on a small machine.
const (
	batch     = 20
	batchRest = 2 * time.Millisecond
)

// run takes IDs until ctx ends, and returns how many. Next may fail as it is promised to.
func (c *client) run(ctx context.Context, s *sequencer.Sequencer) (n int) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, c.f.window)
		for range batch {
			id, err := s.Next(call)
			if err != nil {
				c.promised(err)
				break
			}
			c.note(s, id)
			n++
		}
		cancel()
		signal.Sleep(ctx, batchRest) // ctx is looked at above.
	}
	return n
}

// promised requires an error that is documented for Next and Create.
func (c *client) promised(err error) {
	c.f.Helper()
	if !slices.ContainsFunc([]error{
		sequencer.ErrGrantExpired, sequencer.ErrNoFreeNode, sequencer.ErrUnavailable, sequencer.ErrDetached,
		sequencer.ErrDestroyed, sequencer.ErrClosed, store.ErrDamaged,
	}, func(want error) bool { return errors.Is(err, want) }) {
		c.f.Errorf("client %d: %v, which is none of the documented errors", c.number, err)
	}
}

func (f *fleet) node(s *sequencer.Sequencer) sequencer.NodeID {
	f.Helper()
	node, attached := s.LogicalNode()
	if !attached {
		f.Fatal("a handle has no logical node")
	}
	return node
}

func (f *fleet) recordKey(node sequencer.NodeID) string {
	return record.KeysOf(f.folder, fleetName).Record(node)
}

// overwrite replaces a node's record by another program's body.
func (f *fleet) overwrite(node sequencer.NodeID, body string) {
	f.Helper()
	f.await("the record is overwritten", func() bool {
		e, err := f.store.Load(f.ctx, f.recordKey(node))
		if err != nil {
			f.Fatal(err)
		}
		e.Body, e.Meta = []byte(body), nil
		_, err = f.store.Swap(f.ctx, e)
		return err == nil
	})
}

func (f *fleet) record(node sequencer.NodeID) record.Record {
	f.Helper()
	e, err := f.store.Load(f.ctx, f.recordKey(node))
	if err != nil {
		f.Fatal(err)
	}
	r, err := record.Decode(e.Body, e.Meta)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// await waits until a condition on the store or a client holds. Neither signals it.
func (f *fleet) await(what string, holds func() bool) {
	f.Helper()
	for ctx := f.within(soon); !holds(); {
		if !signal.Sleep(ctx, 20*time.Millisecond) {
			f.Fatalf("within %v not: %s", soon, what)
		}
	}
}
