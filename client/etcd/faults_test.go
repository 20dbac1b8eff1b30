package etcd_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// losing is a client that carries out transactions and loses their answers while told to.
type losing struct {
	// code is the status in place of an answer, OK for the answer itself.
	code atomic.Uint32
	lost atomic.Int64
}

func (l *losing) client(t *testing.T) *clientv3.Client {
	t.Helper()
	lose := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		txn, is := req.(*etcdserverpb.TxnRequest)
		if code := codes.Code(l.code.Load()); is && len(txn.Compare) > 0 && code != codes.OK && err == nil {
			if l.lost.Add(1) == 1 {
				return status.Error(code, "the answer is lost")
			}
		}
		return err
	}
	c, err := anEtcd(t).Client(clientv3.Config{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(lose)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestClaimWithoutAnAnswer (EH6): the outcome is unknown and shows in the next read; then the
// holder renews with the lease of that very claim, and has one node.
func TestClaimWithoutAnAnswer(t *testing.T) {
	n := newNode(t, etcd.Config{})
	var l losing
	n.cli = l.client(t)
	s, id := n.store(), newAttachment()
	e, r := n.load(s)
	claim := n.taken(e, r, id)
	l.code.Store(uint32(codes.Unavailable))
	if _, err := s.Swap(t.Context(), claim); err == nil || errors.Is(err, store.ErrChanged) ||
		!errors.Is(err, sequencer.ErrUnavailable) {
		t.Fatalf("a claim without an answer: %v", err)
	}
	if _, r = n.load(s); !r.HeldBy(id) {
		t.Fatalf("the record is %+v", r)
	}
	lease := n.lease()
	n.extend(s, id)
	if n.lease() != lease {
		t.Error("the renewal is on another lease")
	}
	n.giveBack(s, id, 0)
	if n.lease() != 0 {
		t.Error("the live key is there after the return")
	}
}

// TestRepetitionByTheClient: clientv3 sends a transaction again after the status of a canceled
// call. The second copy finds the write of the first one; that is a success.
func TestRepetitionByTheClient(t *testing.T) {
	n := newNode(t, etcd.Config{})
	var l losing
	n.cli = l.client(t)
	s, id := n.store(), newAttachment()
	for _, step := range []func(store.Entry, record.Record) store.Entry{
		func(e store.Entry, r record.Record) store.Entry { return n.taken(e, r, id) },
		func(e store.Entry, r record.Record) store.Entry { return n.extended(e, r, id) },
		func(e store.Entry, r record.Record) store.Entry {
			free, _ := r.Return(attachment.Release{ID: id}, nonce())
			return n.next(e, free, nil)
		},
	} {
		e, r := n.load(s)
		want := step(e, r)
		l.lost.Store(0)
		l.code.Store(uint32(codes.Canceled))
		rev, err := s.Swap(t.Context(), want)
		l.code.Store(uint32(codes.OK))
		if l.lost.Load() < 2 {
			t.Fatalf("the client sent the transaction %d times, so this test shows nothing", l.lost.Load())
		}
		if now, _ := n.load(s); err != nil || now.Revision != rev || string(now.Body) != string(want.Body) {
			t.Fatalf("revision %q, %v; the record is %+v", rev, err, now)
		}
	}
	e := store.Entry{Key: "default/sequencer.json", Body: []byte(`{"nonce":"one"}`)}
	l.lost.Store(0)
	l.code.Store(uint32(codes.Canceled))
	if _, err := s.Swap(t.Context(), e); err != nil || l.lost.Load() < 2 {
		t.Errorf("a definition that was sent %d times: %v", l.lost.Load(), err)
	}
}

// TestAbandonedClaimEnds (EH6, EH11): a claim whose holder never hears of it, and does not look,
// costs its node until the lease ends.
func TestAbandonedClaimEnds(t *testing.T) {
	n := newNode(t, etcd.Config{})
	n.window = time.Second
	var l losing
	l.code.Store(uint32(codes.Unavailable))
	n.cli = l.client(t)
	s := n.store()
	e, r := n.load(s)
	if _, err := s.Swap(t.Context(), n.taken(e, r, newAttachment())); err == nil {
		t.Fatal("the answer was not lost")
	}
	if n.lease() == 0 {
		t.Fatal("the claim was not carried out")
	}
	await(t, 10*time.Second, "free", func() bool { _, r := n.load(s); return r.State == record.Free })
}

// TestServerIsAway: calls end with their context, and nothing is known of a write; after the
// server has come back with its data, the holder continues.
func TestServerIsAway(t *testing.T) {
	srv := ownEtcd(t)
	n := &aNode{t: t, cli: connect(t, srv), prefix: "/i3d/", key: "default/0.json", now: time.Now(),
		window: 9 * time.Second}
	s := n.store()
	n.swap(s, store.Entry{Key: n.key, Body: record.Born(life, nonce()).Encode()})
	id := n.take(s)
	e, r := n.load(s)
	want := n.extended(e, r, id)
	srv.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.Swap(ctx, want)
	if errors.Is(err, store.ErrChanged) || !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("swap: %v", err)
	}
	if _, err := s.Load(ctx, n.key); errors.Is(err, store.ErrNoRecord) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("load: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("calls of 500 ms took %v", took)
	}
	if err := srv.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := n.load(s); now.Revision != e.Revision {
		t.Errorf("the record is at %s after a restart, and was at %s", now.Revision, e.Revision)
	}
	n.extend(s, id)
	n.giveBack(s, id, 0)
}

// TestWatch: it tells of new holders and of ended leases, and not of renewals.
func TestWatch(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	changes := n.watch(s, "default/")
	other := *n
	other.key = "default/1.json"
	id := n.take(s)
	other.swap(s, store.Entry{Key: other.key, Body: record.Born(life, nonce()).Encode()})
	if first := n.nextKey(changes); first != n.key {
		t.Errorf("heard of %s, not of the claim", first)
	}
	n.heard(changes, other.key) // all of the claim has been told
	n.extend(s, id)
	n.extend(s, id)
	n.swap(s, store.Entry{Key: "orders/2.json", Body: record.Born(life, nonce()).Encode()})
	other.take(s)
	if next := n.nextKey(changes); next != other.key {
		t.Errorf("heard of %s, not of the next claim", next)
	}
	n.swap(s, store.Entry{Key: "default/sequencer.json", Body: []byte("one")})
	n.heard(changes, "default/sequencer.json")
	if _, err := n.cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	n.heard(changes, n.key)
}

// TestWatchAfterACompaction (EH13): a watch that missed changes, because etcd compacted them
// while it was cut off, tells of every key.
func TestWatchAfterACompaction(t *testing.T) {
	srv := ownEtcd(t)
	proxy, err := faultproxy.Start(srv.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	cut, err := clientv3.New(clientv3.Config{Endpoints: []string{proxy.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cut.Close() }()
	n := &aNode{t: t, cli: connect(t, srv), prefix: "/i3d/", key: "orders/0.json", now: time.Now(),
		window: 2 * time.Second}
	n.swap(n.store(), store.Entry{Key: n.key, Body: record.Born(life, nonce()).Encode()})
	n.swap(n.store(), store.Entry{Key: "orders/sequencer.json", Body: []byte("one")})
	changes := n.watch(etcd.New(cut, etcd.Config{}), "orders/")
	n.take(n.store())
	n.heard(changes, n.key)
	proxy.Set(faultproxy.Fault{Cut: true})
	for range 3 {
		if _, err := n.cli.Put(t.Context(), "/elsewhere", "x"); err != nil {
			t.Fatal(err)
		}
	}
	now, err := n.cli.Get(t.Context(), "/elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.cli.Compact(t.Context(), now.Header.Revision); err != nil {
		t.Fatal(err)
	}
	proxy.Set(faultproxy.Fault{})
	n.heard(changes, "orders/sequencer.json") // it has not changed, so this is the new list
	n.swap(n.store(), store.Entry{Key: "orders/node-ids-initialized", Body: []byte("one")})
	n.heard(changes, "orders/node-ids-initialized") // after the compaction too
}

// watch returns the keys that change below a prefix.
func (n *aNode) watch(s store.Store, prefix string) <-chan string {
	n.t.Helper()
	changes, err := s.(store.Watcher).Watch(n.t.Context(), prefix)
	if err != nil {
		n.t.Fatal(err)
	}
	return changes
}

// nextKey returns the next key that a watch tells of.
func (n *aNode) nextKey(changes <-chan string) string {
	n.t.Helper()
	select {
	case key, open := <-changes:
		if !open {
			n.t.Fatal("the watch ended")
		}
		return key
	case <-time.After(20 * time.Second):
		n.t.Fatal("nothing in 20 s")
	}
	return ""
}

// heard returns when a watch tells of a key.
func (n *aNode) heard(changes <-chan string, key string) {
	n.t.Helper()
	for n.nextKey(changes) != key {
	}
}

// TestAuthentication: the user's client brings its user, whose role needs no more than the
// prefix. Without it the error says which role is needed.
func TestAuthentication(t *testing.T) {
	srv := ownEtcd(t)
	root := connect(t, srv)
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"root", "ids", "stranger"} {
		must(root.UserAdd(ctx, name, name+"-pw"))
	}
	must(root.RoleAdd(ctx, "root"))
	must(root.RoleAdd(ctx, "ids"))
	must(root.RoleGrantPermission(ctx, "ids", "/i3d/", clientv3.GetPrefixRangeEnd("/i3d/"),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.UserGrantRole(ctx, "ids", "ids"))
	must(root.AuthEnable(ctx))
	login := func(name string) *clientv3.Client {
		c, err := srv.Client(clientv3.Config{Username: name, Password: name + "-pw"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	n := &aNode{t: t, cli: login("ids"), prefix: "/i3d/", key: "default/0.json", now: time.Now(), window: 2 * time.Second}
	s := n.store()
	changes := n.watch(s, "default/")
	n.swap(s, store.Entry{Key: n.key, Body: record.Born(life, nonce()).Encode()})
	n.heard(changes, n.key)
	id := n.take(s)
	n.extend(s, id)
	n.giveBack(s, id, 0)

	other := etcd.New(login("stranger"), etcd.Config{})
	for what, call := range map[string]func() error{
		"load": func() error { _, err := other.Load(ctx, n.key); return err },
		"list": func() error { _, err := other.List(ctx, "default/"); return err },
		"swap": func() error { _, err := other.Swap(ctx, store.Entry{Key: "x", Body: []byte("x")}); return err },
		"watch": func() error {
			_, err := other.(store.Watcher).Watch(ctx, "default/")
			return err
		},
	} {
		if err := call(); !errors.Is(err, sequencer.ErrInvalidConfig) ||
			!strings.Contains(err.Error(), "role may read and write") {
			t.Errorf("%s without permission: %v", what, err)
		}
	}
}

// TestWithoutAClient: it is an error, not a panic.
func TestWithoutAClient(t *testing.T) {
	s := etcd.New(nil, etcd.Config{})
	_, loaded := s.Load(t.Context(), "x")
	_, listed := s.List(t.Context(), "")
	_, swapped := s.Swap(t.Context(), store.Entry{Key: "x", Body: []byte("x")})
	_, watched := s.(store.Watcher).Watch(t.Context(), "")
	for _, err := range []error{loaded, listed, swapped, watched} {
		if !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Error(err)
		}
	}
}
