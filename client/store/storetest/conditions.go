package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/client/store"
)

func createOnce(b *bench) {
	key := b.key("k")
	if e, err := b.store.Load(b.ctx, key); !errors.Is(err, store.ErrNoRecord) {
		b.Fatalf("load of a key that was never written: %q, %v; ErrNoRecord is due", e.Body, err)
	}
	e := b.create(key, "first")
	b.want(b.store, e)
	b.want(b.other, e)
	b.refuse("create of an existing key", store.Entry{Key: key, Body: []byte("second")})
	b.refuse("create of an existing key with the same body", store.Entry{Key: key, Body: e.Body})
	b.want(b.other, e)
}

func staleRevision(b *bench) {
	first := b.create(b.key("k"), "first")
	second := first
	second.Body = []byte("second")
	second = b.swap(second)
	stale := first
	stale.Body = []byte("stale")
	b.refuse("a revision that was replaced", stale)
	third := second
	third.Body = []byte("third")
	third = b.swap(third)
	stale.Revision = second.Revision
	b.refuse("a revision that was replaced twice", stale)
	b.refuse("a create after three writes", store.Entry{Key: first.Key, Body: []byte("stale")})
	b.want(b.store, third)
}

func absentKey(b *bench) {
	there := b.create(b.key("there"), "x")
	absent := store.Entry{Key: b.key("absent"), Body: []byte("x"), Revision: there.Revision}
	b.refuse("a key that does not exist, at a revision", absent)
	if _, err := b.store.Load(b.ctx, absent.Key); !errors.Is(err, store.ErrNoRecord) {
		b.Errorf("load of a key whose swaps were refused: %v; ErrNoRecord is due", err)
	}
	if _, err := b.store.Swap(b.ctx, store.Entry{Key: there.Key, Body: []byte("y"),
		Revision: "no revision of this store"}); err == nil {
		b.Error("a swap at a made-up revision succeeded")
	}
	b.want(b.store, there)
}

// backToTheSameState: a free record is loaded; another holder takes and returns it, so that it
// differs only in a nonce; a swap of the loaded state fails.
func backToTheSameState(b *bench) {
	const free = `{"version":%d,"grant":{"state":"free","bound":1000,"nonce":"%d"}}`
	seen := b.create(b.key("0"), fmt.Sprintf(free, 1, 1))
	current := seen
	for round := range 20 {
		current.Body = fmt.Appendf(nil, `{"version":%d,"grant":{"state":"held","nonce":"t%d"}}`, 1, round)
		current = b.swap(current)
		current.Body = fmt.Appendf(nil, free, 1, round+2)
		current = b.swap(current)
		stale := seen
		stale.Body = []byte(`{"version":2,"grant":{"state":"held","nonce":"stale"}}`)
		b.refuse("a record that was taken and returned since", stale)
	}
	b.want(b.other, current)
}

// revisionsDiffer: no revision stands for two bodies.
func revisionsDiffer(b *bench) {
	bodies := map[store.Revision]string{}
	e := store.Entry{Key: b.key("k")}
	for i := range 100 {
		e.Body = []byte(strings.Repeat("x", i%7) + fmt.Sprint(i/10))
		e = b.swap(e)
		if before, there := bodies[e.Revision]; there && before != string(e.Body) {
			b.Fatalf("write %d: revision %q stands for %q and for %q", i, e.Revision, before, e.Body)
		}
		bodies[e.Revision] = string(e.Body)
		if d, ok := b.store.(Deleter); ok && i%30 == 29 {
			if err := d.Delete(b.ctx, e.Key); err != nil {
				b.Fatal(err)
			}
			e.Revision = ""
		}
	}
}

// deleted: a key that an operator deleted is absent, for its last revision too.
func deleted(b *bench) {
	d := b.store.(Deleter)
	e := b.create(b.key("k"), "x")
	neighbour := b.create(b.key("k2"), "y")
	if err := d.Delete(b.ctx, e.Key); err != nil {
		b.Fatal(err)
	}
	if have, err := b.other.Load(b.ctx, e.Key); !errors.Is(err, store.ErrNoRecord) {
		b.Errorf("load of a deleted key: %q, %v; ErrNoRecord is due", have.Body, err)
	}
	b.refuse("a deleted key at its last revision", e)
	found, err := b.store.List(b.ctx, e.Key)
	if err != nil || len(found) != 1 || found[0].Key != neighbour.Key {
		b.Errorf("the list after a deletion: %v, %v", keysOf(found), err)
	}
	again := b.create(e.Key, "another")
	b.refuse("a key that was deleted and created again, at its revision before", e)
	b.want(b.other, again)
}

// generation: a swap for another generation than the server's is refused.
func generation(b *bench) {
	g := b.store.(store.Generations)
	id, lossy, err := g.Generation(b.ctx)
	again, _, againErr := g.Generation(b.ctx)
	if err != nil || againErr != nil || id == "" || id != again {
		b.Fatalf("the generation is %q and %q: %v, %v", id, again, err, againErr)
	}
	b.Logf("generation %q, lossy %v", id, lossy)
	e := b.create(b.key("k"), "first")
	for _, wrong := range []string{id + "x", "", "another"} {
		stale := e
		stale.Body = []byte("stale")
		if _, err := g.SwapIn(b.ctx, stale, wrong); !errors.Is(err, store.ErrChanged) {
			b.Errorf("a swap for generation %q, while %q answers: %v; ErrChanged is due", wrong, id, err)
		}
		if _, err := g.SwapIn(b.ctx, store.Entry{Key: b.key("new"), Body: stale.Body}, wrong); !errors.Is(err,
			store.ErrChanged) {
			b.Errorf("a create for generation %q, while %q answers: %v; ErrChanged is due", wrong, id, err)
		}
	}
	b.want(b.store, e)
	if have, err := b.store.Load(b.ctx, b.key("new")); !errors.Is(err, store.ErrNoRecord) {
		b.Errorf("a create for another generation had an effect: %q, %v", have.Body, err)
	}
	stale := e
	e.Body = []byte("second")
	if e.Revision, err = g.SwapIn(b.ctx, e, id); err != nil {
		b.Fatalf("a swap for the generation that answers: %v", err)
	}
	if _, err := g.SwapIn(b.ctx, stale, id); !errors.Is(err, store.ErrChanged) {
		b.Errorf("a swap for the right generation at a stale revision: %v; ErrChanged is due", err)
	}
	b.want(b.other, e)
}
