package mixed_test

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/store"
)

// mixedStore is the store of this package.
var mixedStore = etcdtest.Kind{Name: "mixed", Prefix: mixed.DefaultPrefix,
	Open: func(cli *clientv3.Client, prefix string) store.Store {
		return mixed.New(cli, mixed.Config{Prefix: prefix})
	}}

// both runs a test of this store and of the one of package etcd, of which it consists, beside each other.
func both(t *testing.T, test func(*testing.T, etcdtest.Kind)) {
	t.Helper()
	for _, k := range []etcdtest.Kind{etcdtest.Plain, mixedStore} {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

func TestRepetitionByTheClient(t *testing.T)       { both(t, repetitionByTheClient) }
func TestRepeatedTransactionSucceeds(t *testing.T) { both(t, repeatedTransactionSucceeds) }
func TestServerIsAway(t *testing.T)                { both(t, serverIsAway) }
func TestWatchWithoutRenewals(t *testing.T)        { both(t, watchWithoutRenewals) }
func TestWatchAfterACompaction(t *testing.T)       { both(t, watchAfterACompaction) }
func TestAuthentication(t *testing.T)              { both(t, authentication) }
func TestWithoutAClient(t *testing.T)              { both(t, withoutAClient) }
func TestUnreadableRecordIsReplaced(t *testing.T)  { both(t, unreadableRecordIsReplaced) }
func TestOutages(t *testing.T)                     { both(t, outages) }
func TestNoFreeNode(t *testing.T)                  { both(t, noFreeNode) }
func TestStarters(t *testing.T)                    { both(t, starters) }
func TestStoppedHolder(t *testing.T)               { both(t, stoppedHolder) }
func TestLeftNodeIsTakenSoon(t *testing.T)         { both(t, leftNodeIsTakenSoon) }

// nodeOn writes a record that no attachment has held, below the default prefix of a server.
func nodeOn(t *testing.T, k etcdtest.Kind, cli *clientv3.Client) *etcdtest.Node {
	t.Helper()
	n := &etcdtest.Node{T: t, Kind: k, Cli: cli, Prefix: k.Prefix, Key: "default/0.json", Now: time.Now(),
		Window: 2 * time.Second}
	n.Create()
	return n
}

// watching is a watch of a node's store.
type watching struct {
	t    *testing.T
	keys <-chan string
}

// watch returns the keys that change below a prefix.
func watch(n *etcdtest.Node, s store.Store, prefix string) watching {
	n.Helper()
	keys, err := s.(store.Watcher).Watch(n.Context(), prefix)
	if err != nil {
		n.Fatal(err)
	}
	return watching{n.T, keys}
}

// next returns the next key that the watch reports.
func (w watching) next() string {
	w.t.Helper()
	select {
	case key, open := <-w.keys:
		if !open {
			w.t.Fatal("the watch ended")
		}
		return key
	case <-time.After(20 * time.Second):
		w.t.Fatal("nothing in 20 s")
	}
	return ""
}

// reported returns when the watch reports a key.
func (w watching) reported(key string) {
	w.t.Helper()
	for w.next() != key {
	}
}
