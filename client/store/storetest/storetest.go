// Package storetest tests stores: it has the conformance suite that every adapter passes, including
// adapters in other modules, and a store that injects faults into another.
//
//	func TestStore(t *testing.T) {
//		server := startServer(t)
//		storetest.Run(t, func() store.Store { return mystore.New(server) })
//	}
package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Deleter is implemented by a store under test if its keys can be deleted, as an operator may do by
// mistake. The suite then tests the consequences.
type Deleter interface {
	Delete(ctx context.Context, key string) error
}

// Run tests whether IDs can be issued over a store: first the store's own promises, then the
// promises of clients that use it under faults. It takes about 15 s, or more if the store has
// waits.
//
// Each call to open returns a handle on the same data, as for another process; a store that all
// processes use alike may be returned again. It is called concurrently. The suite writes below its
// own keys, which begin with "storetest-", and leaves them there.
func Run(t *testing.T, open func() store.Store) {
	offered := open()
	for _, c := range checks {
		if c.when == nil || c.when(offered) {
			t.Run(c.name, func(t *testing.T) { c.run(t, open) })
		}
	}
	t.Run("Client", func(t *testing.T) {
		var all sync.WaitGroup // They mostly wait, so more of them run than there are processors.
		defer all.Wait()
		for _, c := range clientChecks {
			if c.when == nil || c.when(offered) {
				all.Go(func() { t.Run(c.name, func(t *testing.T) { c.run(t, open) }) })
			}
		}
	})
}

// check is one promise of a store, or of a client over one.
type check struct {
	name string
	test func(*bench)
	when func(store.Store) bool // reports whether a store makes the promise; nil: all do
}

// checks are the promises of package store, one rule each.
var checks = []check{
	{name: "CreateOnce", test: createOnce},
	{name: "StaleRevision", test: staleRevision},
	{name: "AbsentKey", test: absentKey},
	{name: "ABA", test: backToTheSameState},
	{name: "ConcurrentCreates", test: concurrentCreates},
	{name: "ConcurrentSwaps", test: concurrentSwaps},
	{name: "Counter", test: counter},
	{name: "RevisionsDiffer", test: revisionsDiffer},
	{name: "Keys", test: oddKeys},
	{name: "EmptyKey", test: emptyKey},
	{name: "Bodies", test: bodies},
	{name: "Meta", test: meta},
	{name: "ListPrefix", test: listPrefix},
	{name: "ListPages", test: listPages},
	{name: "EndedContext", test: endedContext},
	{name: "Deleted", test: deleted, when: offers[Deleter]},
	{name: "Generation", test: generation, when: offers[store.Generations]},
	{name: "Watch", test: watch, when: offers[store.Watcher]},
	{name: "Dated", test: dated, when: offers[store.Dated]},
}

// clientChecks are a client's promises. They run concurrently.
var clientChecks = []check{
	{name: "Starters", test: fleetOf(starters)},
	{name: "Killed", test: fleetOf(killed)},
	{name: "Returned", test: fleetOf(returned)},
	{name: "Recreated", test: fleetOf(recreated)},
	{name: "Scaled", test: fleetOf(scaled)},
	{name: "Retired", test: fleetOf(retired)},
	{name: "Conflicting", test: fleetOf(conflicting)},
	{name: "Unconditional", test: fleetOf(unconditional)},
	{name: "Lossy", test: fleetOf(lossy)},
	{name: "LostTake", test: fleetOf(lostTake)},
	{name: "Paused", test: fleetOf(paused)},
	{name: "Skewed", test: fleetOf(skewed)},
	{name: "SkewedFromStore", test: fleetOf(skewedDated), when: offers[store.Dated]},
	{name: "Away", test: fleetOf(away)},
	{name: "TakenMeanwhile", test: fleetOf(takenMeanwhile)},
	{name: "Damaged", test: fleetOf(damaged)},
	{name: "Repaired", test: fleetOf(repaired)},
	{name: "Missing", test: fleetOf(missing), when: offers[Deleter]},
}

// offers reports whether a store implements an optional interface.
func offers[I any](s store.Store) bool {
	_, is := s.(I)
	return is
}

// checkFor bounds one check.
const checkFor = 2 * time.Minute

func (c check) run(t testing.TB, open func() store.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), checkFor)
	defer cancel()
	b := &bench{TB: t, ctx: ctx, store: open(), folder: "storetest-" + strings.ToLower(rand.Text()[:12]) + "/"}
	b.other = open()
	e := b.create(b.key("shared"), "one store")
	if have, err := b.other.Load(ctx, e.Key); err != nil || !bytes.Equal(have.Body, e.Body) {
		t.Fatalf("a key that was written by one handle is %q, %v for the next: open must return handles on the same data, "+
			"and reads must be linearizable", have.Body, err)
	}
	c.test(b)
}

// fleetOf returns the test of clients over the store.
func fleetOf(test func(*fleet)) func(*bench) {
	return func(b *bench) {
		test(&fleet{bench: b, window: fleetWindow, ids: map[sequencer.ID]int{}, ticks: map[tick]int{}})
	}
}

// bench is the environment for one check.
type bench struct {
	testing.TB
	ctx          context.Context
	store, other store.Store // two handles on the same data
	folder       string
}

// key returns a key that no other check has.
func (b *bench) key(name string) string { return b.folder + name }

// create writes a key that must be new.
func (b *bench) create(key, body string) store.Entry {
	b.Helper()
	return b.swap(store.Entry{Key: key, Body: []byte(body)})
}

// swap writes an entry on a store without faults, where it must succeed.
func (b *bench) swap(e store.Entry) store.Entry {
	b.Helper()
	revision, err := b.store.Swap(b.ctx, e)
	if err != nil {
		b.Fatalf("swap of %.100q at revision %q: %v", e.Key, e.Revision, err)
	}
	if revision == "" || revision == e.Revision {
		b.Fatalf("swap of %.100q at revision %q: the new revision is %q", e.Key, e.Revision, revision)
	}
	e.Revision = revision
	return e
}

// refuse requires ErrChanged from a swap, and no effect.
func (b *bench) refuse(why string, e store.Entry) {
	b.Helper()
	before, beforeErr := b.store.Load(b.ctx, e.Key)
	if _, err := b.store.Swap(b.ctx, e); !errors.Is(err, store.ErrChanged) {
		b.Errorf("%s: swap at revision %q: %v; ErrChanged is due", why, e.Revision, err)
	}
	after, afterErr := b.store.Load(b.ctx, e.Key)
	if before.Revision != after.Revision || !bytes.Equal(before.Body, after.Body) ||
		errors.Is(beforeErr, store.ErrNoRecord) != errors.Is(afterErr, store.ErrNoRecord) {
		b.Errorf("%s: a swap at revision %q that was refused had an effect: before %q, %v, after %q, %v", why, e.Revision,
			before.Body, beforeErr, after.Body, afterErr)
	}
}

// want loads a key and compares it with the body written.
func (b *bench) want(s store.Store, e store.Entry) {
	b.Helper()
	have, err := s.Load(b.ctx, e.Key)
	if err != nil {
		b.Fatalf("load of %.100q: %v", e.Key, err)
	}
	if have.Key != e.Key || have.Revision != e.Revision || !bytes.Equal(have.Body, e.Body) {
		b.Errorf("load of %.100q: key %.100q, revision %q, body %.100q (%d bytes); written were revision %q, body %.100q "+
			"(%d bytes)",
			e.Key, have.Key, have.Revision, have.Body, len(have.Body), e.Revision, e.Body, len(e.Body))
	}
}
