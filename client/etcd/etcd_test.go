package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The tests that both stores pass are beside package mixed.
func TestMain(m *testing.M) { etcdtest.Main(m) }

// TestConformance: the store keeps the promises that package store needs.
func TestConformance(t *testing.T) {
	s, prefix := etcdtest.Shared(t), etcdtest.Prefix(t)
	storetest.Run(t, func() store.Store {
		cli := etcdtest.Connect(t, s)
		return deletable{etcd.New(cli, etcd.Config{Prefix: prefix}).(watched), cli, prefix}
	})
}

// watched are the interfaces of the store, the optional ones among them.
type watched interface {
	store.Store
	store.Watcher
}

// deletable is a store whose keys can be deleted.
type deletable struct {
	watched
	cli    *clientv3.Client
	prefix string
}

func (d deletable) Delete(ctx context.Context, key string) error {
	_, err := d.cli.Delete(ctx, d.prefix+key)
	return err
}

// TestDestroyIsReported: other clients' handles end without a renewal in between.
func TestDestroyIsReported(t *testing.T) {
	cli, prefix := etcdtest.Connect(t, etcdtest.Shared(t)), etcdtest.Prefix(t)
	var handles []*sequencer.Sequencer
	for range 2 {
		c := etcdtest.Opened(t, etcdtest.Plain, cli, prefix, store.Config{Window: time.Minute})
		h, err := c.CreateSequencer(t.Context(), "default", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, h)
	}
	if err := handles[0].Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	etcdtest.Await(t, 5*time.Second, "destroyed", func() bool { return handles[1].State() == sequencer.Destroyed })
	c := etcdtest.Opened(t, etcdtest.Plain, cli, prefix, store.Config{Window: time.Minute})
	again, err := c.CreateSequencer(t.Context(), "default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Next(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKeys: each of the engine's keys is one key without a lease, next to the last changed key.
func TestKeys(t *testing.T) {
	n := etcdtest.NewNode(t, etcdtest.Plain)
	n.Take(n.Store())
	n.Swap(n.Store(), store.Entry{Key: "orders/sequencer.json", Body: []byte("one")})
	got, err := n.Cli.Get(t.Context(), n.Prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{n.Prefix: true, n.Prefix + "default/0.json": true,
		n.Prefix + "orders/sequencer.json": true}
	for _, at := range got.Kvs {
		if !want[string(at.Key)] || at.Lease != 0 {
			t.Errorf("key %s on lease %x", at.Key, at.Lease)
		}
	}
	if len(got.Kvs) != len(want) {
		t.Errorf("%d keys, want %d", len(got.Kvs), len(want))
	}
	if last := etcdtest.Value(t, n.Cli, n.Prefix); last != "orders/sequencer.json" {
		t.Errorf("the last changed key is %q", last)
	}
	all, err := n.Store().List(t.Context(), "")
	if err != nil || len(all) != 2 || all[0].Key != "default/0.json" || all[1].Key != "orders/sequencer.json" {
		t.Errorf("listed %+v, %v", all, err)
	}
	if _, err := n.Store().Load(t.Context(), ""); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("the last changed key was loaded: %v", err)
	}
}

// TestSwapComparesRevisions: a write is refused at any revision but the present one, also if the key
// is as it was (ABA), and an equal body without a nonce is another write (H4).
func TestSwapComparesRevisions(t *testing.T) {
	n := etcdtest.NewNode(t, etcdtest.Plain)
	s := n.Store()
	for _, key := range []string{"default/sequencer.json", "default/7.json", "probe"} {
		one := n.Swap(s, store.Entry{Key: key, Body: []byte(`{"state":1}`)})
		n.Refused(s, store.Entry{Key: key, Body: []byte(`{"state":1}`)}, "a second creation")
		two := n.Swap(s, store.Entry{Key: key, Body: []byte(`{"state":2}`), Revision: one.Revision})
		n.Refused(s, store.Entry{Key: key, Body: []byte("three"), Revision: one.Revision}, "a stale write")
		back := n.Swap(s, store.Entry{Key: key, Body: []byte(`{"state":1}`), Revision: two.Revision})
		n.Refused(s, store.Entry{Key: key, Body: []byte("three"), Revision: one.Revision}, "a write to the state before")
		for _, other := range []store.Revision{"0", "-1", "01", "1.0.0", "x", store.Revision("+" + string(back.Revision))} {
			n.Refused(s, store.Entry{Key: key, Body: []byte("four"), Revision: other}, "revision "+string(other))
		}
		if got, err := s.Load(t.Context(), key); err != nil || string(got.Body) != `{"state":1}` ||
			got.Revision != back.Revision {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
	if _, err := s.Load(t.Context(), "missing"); !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("a missing key: %v", err)
	}
	if _, err := s.Swap(t.Context(), store.Entry{Key: "empty"}); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("an empty body: %v", err)
	}
}

// TestCrashedHolder: the node of a crashed holder is free after the window, without a lease. The next
// grant begins above the one before, and the crashed holder cannot extend it.
func TestCrashedHolder(t *testing.T) {
	n := etcdtest.NewNode(t, etcdtest.Plain)
	crashed, next := n.Store(), n.Store()
	id := n.Take(crashed)
	n.Extend(crashed, id)
	before, held := n.Load(crashed)
	if held.Acquirable(etcdtest.Tick(n.Now.Add(n.Window))) {
		t.Error("the node is acquirable within the window")
	}
	late := n.Extended(before, held, id)
	n.Now = n.Now.Add(n.Window + time.Millisecond)
	e, r := n.Load(next)
	if !r.Acquirable(etcdtest.Tick(n.Now)) {
		t.Errorf("the node is not acquirable after the window: %+v", r)
	}
	n.Swap(next, n.Taken(e, r, etcdtest.NewAttachment()))
	if _, now := n.Load(next); now.From < held.Until || now.Version != 2 || now.Graceful {
		t.Errorf("the next grant %+v overlaps the one before, until %d", now, held.Until)
	}
	n.Refused(crashed, late, "a late extension")
	if leases, err := n.Cli.Leases(t.Context()); err != nil || len(leases.Leases) > 0 {
		t.Errorf("leases: %+v, %v", leases, err)
	}
}

// TestUnclearOutcome: a claim without an answer is settled by the next read, in either way, and by a
// second copy.
func TestUnclearOutcome(t *testing.T) {
	n := etcdtest.NewNode(t, etcdtest.Plain)
	var l etcdtest.Losing
	n.Cli = l.Client(t)
	s, id := n.Store(), etcdtest.NewAttachment()
	e, r := n.Load(s)
	claim := n.Taken(e, r, id)
	l.LoseNext()
	if _, err := s.Swap(t.Context(), claim); errors.Is(err, store.ErrChanged) ||
		!errors.Is(err, sequencer.ErrUnavailable) {
		t.Fatalf("a claim without an answer: %v", err)
	}
	now, r := n.Load(s)
	if !r.HeldBy(id) || string(now.Body) != string(claim.Body) {
		t.Fatalf("the record is %+v", r)
	}
	if rev, err := s.Swap(t.Context(), claim); err != nil || rev != now.Revision {
		t.Errorf("a second copy of the claim: %q, %v, want %q", rev, err, now.Revision)
	}
	n.Extend(s, id)
	n.GiveBack(s, id, 0)
	n.Refused(s, claim, "the claim again, after others")
}

// TestListWithoutAClient: a store without a client says so.
func TestListWithoutAClient(t *testing.T) {
	if _, err := etcd.New(nil, etcd.Config{}).List(t.Context(), ""); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("listed: %v", err)
	}
}

// TestDefaultWindow: the store suggests a renewal every three seconds.
func TestDefaultWindow(t *testing.T) {
	w, ok := etcd.New(nil, etcd.Config{}).(interface{ DefaultWindow() time.Duration })
	if !ok || w.DefaultWindow() != 9*time.Second {
		t.Error("the suggested window is not 9 s")
	}
}
