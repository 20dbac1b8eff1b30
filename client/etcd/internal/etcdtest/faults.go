package etcdtest

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

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Losing makes a client that carries out transactions and loses answers.
type Losing struct {
	code atomic.Uint32 // the status in place of the next answer, OK for the answer itself
	sent atomic.Int64  // conditional transactions since code was set
}

// LoseNext loses the answer to the next conditional transaction.
func (l *Losing) LoseNext() { l.lose(codes.Unavailable) }

func (l *Losing) lose(c codes.Code) {
	l.sent.Store(0)
	l.code.Store(uint32(c))
}

// Client returns a client of the shared server.
func (l *Losing) Client(t *testing.T) *clientv3.Client {
	t.Helper()
	lose := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		txn, is := req.(*etcdserverpb.TxnRequest)
		if code := codes.Code(l.code.Load()); is && len(txn.Compare) > 0 && code != codes.OK && err == nil {
			if l.sent.Add(1) == 1 {
				return status.Error(code, "the answer is lost")
			}
		}
		return err
	}
	c, err := Shared(t).Client(clientv3.Config{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(lose)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// RepetitionByTheClient checks that a transaction succeeds which clientv3 sends again, after the status
// of a canceled call. The second copy finds the write of the first one.
func RepetitionByTheClient(t *testing.T, k Kind) {
	n := NewNode(t, k)
	var l Losing
	n.Cli = l.Client(t)
	s, id := n.Store(), NewAttachment()
	for _, step := range []func(store.Entry, record.Record) store.Entry{
		func(e store.Entry, r record.Record) store.Entry { return n.Taken(e, r, id) },
		func(e store.Entry, r record.Record) store.Entry { return n.Extended(e, r, id) },
		func(e store.Entry, r record.Record) store.Entry {
			free, _ := r.Return(attachment.Release{ID: id}, Nonce())
			return n.Next(e, free, nil)
		},
	} {
		e, r := n.Load(s)
		want := step(e, r)
		l.lose(codes.Canceled)
		rev, err := s.Swap(t.Context(), want)
		if l.sent.Load() < 2 {
			t.Fatalf("the client sent the transaction %d times, so this test checks nothing", l.sent.Load())
		}
		if now, _ := n.Load(s); err != nil || now.Revision != rev || string(now.Body) != string(want.Body) {
			t.Fatalf("revision %q, %v; the record is %+v", rev, err, now)
		}
	}
	e := store.Entry{Key: "default/sequencer.json", Body: []byte(`{"nonce":"one"}`)}
	l.lose(codes.Canceled)
	if _, err := s.Swap(t.Context(), e); err != nil || l.sent.Load() < 2 {
		t.Errorf("a definition that was sent %d times: %v", l.sent.Load(), err)
	}
}

// RepeatedTransactionSucceeds checks that the second copy of a transaction, which finds its own body, is a
// success (EH6).
func RepeatedTransactionSucceeds(t *testing.T, k Kind) *Node {
	n := NewNode(t, k)
	s := n.Store()
	id := NewAttachment()
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
	return n
}

// ServerIsAway checks that calls end with their context, and leave the outcome of a write open. After the
// server has come back with its data, the holder continues.
func ServerIsAway(t *testing.T, k Kind) {
	srv := Own(t)
	n := NodeOn(t, k, Connect(t, srv))
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

// WatchWithoutRenewals checks that a watch reports new holders and other keys, and no renewals.
func WatchWithoutRenewals(t *testing.T, k Kind) {
	n := NewNode(t, k)
	s := n.Store()
	changes := n.Watch(s, "default/")
	other := *n
	other.Key = "default/1.json"
	id := n.Take(s)
	other.Create()
	if first := n.NextKey(changes); first != n.Key {
		t.Errorf("the watch reported %s, not the claim", first)
	}
	n.Reported(changes, other.Key) // all of the claim has been reported
	n.Extend(s, id)
	n.Extend(s, id)
	n.Swap(s, store.Entry{Key: "orders/2.json", Body: record.Born(Life, Nonce()).Encode()})
	other.Take(s)
	if next := n.NextKey(changes); next != other.Key {
		t.Errorf("the watch reported %s, not the next claim", next)
	}
	n.Swap(s, store.Entry{Key: "default/sequencer.json", Body: []byte("one")})
	n.Reported(changes, "default/sequencer.json")
	n.GiveBack(s, id, 0)
	n.Reported(changes, n.Key)
}

// WatchAfterACompaction checks that a watch that missed changes, because etcd compacted them while it was
// cut off, reports every key (EH13).
func WatchAfterACompaction(t *testing.T, k Kind) {
	srv := Own(t)
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
	n := NodeOn(t, k, Connect(t, srv))
	n.Swap(n.Store(), store.Entry{Key: "default/sequencer.json", Body: []byte("one")})
	changes := n.Watch(k.Open(cut, ""), "default/")
	n.Take(n.Store())
	n.Reported(changes, n.Key)
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
	n.Reported(changes, "default/sequencer.json") // it has not changed, so this is the new list
	n.Swap(n.Store(), store.Entry{Key: "default/node-ids-initialized", Body: []byte("one")})
	n.Reported(changes, "default/node-ids-initialized") // after the compaction too
}

// Authentication checks that the role of the client's user needs no more than the prefix. Without it the
// error names the role that is needed.
func Authentication(t *testing.T, k Kind) {
	srv := Own(t)
	root := Connect(t, srv)
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
	n := NodeOn(t, k, login("ids"))
	s := n.Store()
	changes := n.Watch(s, "default/")
	id := n.Take(s)
	n.Reported(changes, n.Key)
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

// WithoutAClient checks that a store without a client returns errors.
func WithoutAClient(t *testing.T, k Kind) {
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

// UnreadableRecordIsReplaced checks that a body that is not a record can be loaded and replaced. Records are
// below a prefix of the store's own.
func UnreadableRecordIsReplaced(t *testing.T, k Kind, below string) {
	n := NewNode(t, k)
	s := n.Store()
	if _, err := n.Cli.Put(t.Context(), n.Prefix+below+n.Key, "not JSON"); err != nil {
		t.Fatal(err)
	}
	e, err := s.Load(t.Context(), n.Key)
	if err != nil || string(e.Body) != "not JSON" {
		t.Fatalf("loaded %q, %v", e.Body, err)
	}
	fixed, err := record.Repaired(Life, Tick(n.Now), 0, 5, Nonce())
	n.Swap(s, n.Next(e, fixed, err))
	n.Take(s)
}
