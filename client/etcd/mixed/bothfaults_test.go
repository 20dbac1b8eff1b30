package mixed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// repetitionByTheClient checks that a transaction succeeds which clientv3 sends again, after the status
// of a canceled call. The second copy finds the write of the first one.
func repetitionByTheClient(t *testing.T, k etcdtest.Kind) {
	n := etcdtest.NewNode(t, k)
	var l etcdtest.Losing
	n.Cli = l.Client(t)
	s, id := n.Store(), etcdtest.NewAttachment()
	for _, step := range []func(store.Entry, record.Record) store.Entry{
		func(e store.Entry, r record.Record) store.Entry { return n.Taken(e, r, id) },
		func(e store.Entry, r record.Record) store.Entry { return n.Extended(e, r, id) },
		func(e store.Entry, r record.Record) store.Entry {
			free, _ := r.Return(attachment.Release{ID: id}, etcdtest.Nonce())
			return n.Next(e, free, nil)
		},
	} {
		e, r := n.Load(s)
		want := step(e, r)
		l.Lose(codes.Canceled)
		rev, err := s.Swap(t.Context(), want)
		if l.Sent() < 2 {
			t.Fatalf("the client sent the transaction %d times, so this test checks nothing", l.Sent())
		}
		if now, _ := n.Load(s); err != nil || now.Revision != rev || string(now.Body) != string(want.Body) {
			t.Fatalf("revision %q, %v; the record is %+v", rev, err, now)
		}
	}
	e := store.Entry{Key: "default/sequencer.json", Body: []byte(`{"nonce":"one"}`)}
	l.Lose(codes.Canceled)
	if _, err := s.Swap(t.Context(), e); err != nil || l.Sent() < 2 {
		t.Errorf("a definition that was sent %d times: %v", l.Sent(), err)
	}
}

// repeatedTransactionSucceeds checks that the second copy of a transaction, which finds its own body, is a
// success (EH6).
func repeatedTransactionSucceeds(t *testing.T, k etcdtest.Kind) {
	n := etcdtest.NewNode(t, k)
	s := n.Store()
	id := etcdtest.NewAttachment()
	e, r := n.Load(s)
	claim := n.Taken(e, r, id)
	claimed := n.Swap(s, claim)
	if again, err := s.Swap(t.Context(), claim); err != nil || again != claimed.Revision {
		t.Errorf("the claim again: %q, %v, want %q", again, err, claimed.Revision)
	}
	e, r = n.Load(s)
	renewal := n.Extended(e, r, id)
	renewed := n.Swap(s, renewal)
	if again, err := s.Swap(t.Context(), renewal); err != nil || again != renewed.Revision {
		t.Errorf("the renewal again: %q, %v, want %q", again, err, renewed.Revision)
	}
	n.Refused(s, claim, "a copy of the claim after the renewal")
}

// serverIsAway checks that calls end with their context, and leave the outcome of a write open. After the
// server has come back with its data, the holder continues.
func serverIsAway(t *testing.T, k etcdtest.Kind) {
	srv := etcdtest.Own(t)
	n := nodeOn(t, k, etcdtest.Connect(t, srv))
	n.Window = 9 * time.Second
	s := n.Store()
	id := n.Take(s)
	e, r := n.Load(s)
	want := n.Extended(e, r, id)
	srv.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.Swap(ctx, want)
	if errors.Is(err, store.ErrChanged) || !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("swap: %v", err)
	}
	if _, err := s.Load(ctx, n.Key); errors.Is(err, store.ErrNoRecord) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("load: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("calls of 500 ms took %v", took)
	}
	if err := srv.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := n.Load(s); now.Revision != e.Revision {
		t.Errorf("the record is at %s after a restart, and was at %s", now.Revision, e.Revision)
	}
	n.Extend(s, id)
	n.GiveBack(s, id, 0)
}

// watchWithoutRenewals checks that a watch reports new holders and other keys, and no renewals.
func watchWithoutRenewals(t *testing.T, k etcdtest.Kind) {
	n := etcdtest.NewNode(t, k)
	s := n.Store()
	changes := watch(n, s, "default/")
	other := *n
	other.Key = "default/1.json"
	id := n.Take(s)
	other.Create()
	if first := changes.next(); first != n.Key {
		t.Errorf("the watch reported %s, not the claim", first)
	}
	changes.reported(other.Key) // all of the claim has been reported
	n.Extend(s, id)
	n.Extend(s, id)
	n.Swap(s, store.Entry{Key: "orders/2.json", Body: record.Born(etcdtest.Life, etcdtest.Nonce()).Encode()})
	other.Take(s)
	if next := changes.next(); next != other.Key {
		t.Errorf("the watch reported %s, not the next claim", next)
	}
	n.Swap(s, store.Entry{Key: "default/sequencer.json", Body: []byte("one")})
	changes.reported("default/sequencer.json")
	n.GiveBack(s, id, 0)
	changes.reported(n.Key)
}

// watchAfterACompaction checks that a watch that missed changes, because etcd compacted them while it was
// cut off, reports every key (EH13).
func watchAfterACompaction(t *testing.T, k etcdtest.Kind) {
	srv := etcdtest.Own(t)
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
	n := nodeOn(t, k, etcdtest.Connect(t, srv))
	n.Swap(n.Store(), store.Entry{Key: "default/sequencer.json", Body: []byte("one")})
	changes := watch(n, k.Open(cut, ""), "default/")
	n.Take(n.Store())
	changes.reported(n.Key)
	proxy.Set(faultproxy.Fault{Cut: true})
	for range 3 {
		if _, err := n.Cli.Put(t.Context(), "/elsewhere", "x"); err != nil {
			t.Fatal(err)
		}
	}
	now, err := n.Cli.Get(t.Context(), "/elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Cli.Compact(t.Context(), now.Header.Revision); err != nil {
		t.Fatal(err)
	}
	proxy.Set(faultproxy.Fault{})
	changes.reported("default/sequencer.json") // it has not changed, so this is the new list
	n.Swap(n.Store(), store.Entry{Key: "default/node-ids-initialized", Body: []byte("one")})
	changes.reported("default/node-ids-initialized") // after the compaction too
}

// authentication checks that the role of the client's user needs no more than the prefix. Without it the
// error names the role that is needed.
func authentication(t *testing.T, k etcdtest.Kind) {
	srv := etcdtest.Own(t)
	root := etcdtest.Connect(t, srv)
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
	must(root.RoleGrantPermission(ctx, "ids", k.Prefix, clientv3.GetPrefixRangeEnd(k.Prefix),
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
	n := nodeOn(t, k, login("ids"))
	s := n.Store()
	changes := watch(n, s, "default/")
	id := n.Take(s)
	changes.reported(n.Key)
	n.Extend(s, id)
	n.GiveBack(s, id, 0)
	if _, err := s.List(ctx, "default/"); err != nil {
		t.Error(err)
	}
	for what, err := range calls(ctx, k.Open(login("stranger"), "")) {
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "role may read and write") {
			t.Errorf("%s without permission: %v", what, err)
		}
	}
}

// withoutAClient checks that a store without a client returns errors.
func withoutAClient(t *testing.T, k etcdtest.Kind) {
	for what, err := range calls(t.Context(), k.Open(nil, "")) {
		if !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// calls returns the error of each call, of a record and of another key.
func calls(ctx context.Context, s store.Store) map[string]error {
	_, loaded := s.Load(ctx, "default/0.json")
	_, other := s.Load(ctx, "x")
	_, listed := s.List(ctx, "default/")
	_, swapped := s.Swap(ctx, store.Entry{Key: "default/0.json", Body: []byte("x")})
	_, written := s.Swap(ctx, store.Entry{Key: "x", Body: []byte("x")})
	_, watched := s.(store.Watcher).Watch(ctx, "default/")
	return map[string]error{"load": loaded, "load of another key": other, "list": listed, "swap": swapped,
		"swap of another key": written, "watch": watched}
}

// unreadableRecordIsReplaced checks that a body that is not a record can be loaded and replaced.
func unreadableRecordIsReplaced(t *testing.T, k etcdtest.Kind) {
	n := etcdtest.NewNode(t, k)
	s := n.Store()
	below := "" // the prefix of the store's own
	if k.Name == mixedStore.Name {
		below = "snowgrid/"
	}
	if _, err := n.Cli.Put(t.Context(), n.Prefix+below+n.Key, "not JSON"); err != nil {
		t.Fatal(err)
	}
	e, err := s.Load(t.Context(), n.Key)
	if err != nil || string(e.Body) != "not JSON" {
		t.Fatalf("loaded %q, %v", e.Body, err)
	}
	fixed, err := record.Repaired(etcdtest.Life, etcdtest.Tick(n.Now), 0, 5, etcdtest.Nonce())
	n.Swap(s, n.Next(e, fixed, err))
	n.Take(s)
}
