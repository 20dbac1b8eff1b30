package mixed_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// TestMain runs the tests, or the work of a process that a test has started.
func TestMain(m *testing.M) {
	if work := os.Getenv(workVar); work != "" {
		os.Exit(beProcess(work))
	}
	etcdtest.Main(m)
}

// sharedNode is a node with its workers' keys.
type sharedNode struct{ *etcdtest.Node }

// newNode writes a record that no attachment has held.
func newNode(t *testing.T) sharedNode {
	t.Helper()
	return sharedNode{etcdtest.NewNode(t, mixedStore)}
}

// worker returns a worker over the node's keys.
func (n sharedNode) worker() *original {
	return &original{cli: n.Cli, prefix: n.Prefix, ttl: 10, period: 3 * time.Second, guard: 3 * time.Second,
		clock: func() time.Time { return n.Now }}
}

// path returns a key of the node, such as live.
func (n sharedNode) path(dir string) string { return n.Prefix + "workers/" + dir + "/0" }

// report returns last_reported_time, 0 if there is none.
func (n sharedNode) report() clustertime.Tick {
	n.Helper()
	text := etcdtest.Value(n.T, n.Cli, n.path("last_reported_time"))
	if text == "" {
		return 0
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		n.Fatal(err)
	}
	return clustertime.Tick(ms)
}

// put writes a key as a worker does.
func (n sharedNode) put(dir, value string) {
	n.Helper()
	if _, err := n.Cli.Put(n.Context(), n.path(dir), value); err != nil {
		n.Fatal(err)
	}
}

// lease returns the lease of the live key, 0 if there is none.
func (n sharedNode) lease() clientv3.LeaseID {
	n.Helper()
	got, err := n.Cli.Get(n.Context(), n.path("live"))
	if err != nil {
		n.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return 0
	}
	return clientv3.LeaseID(got.Kvs[0].Lease)
}

// leasesOf returns how many leases a server has.
func leasesOf(t *testing.T, c *clientv3.Client) int {
	t.Helper()
	got, err := c.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(got.Leases)
}

func millis(t time.Time) string { return fmt.Sprint(t.UnixMilli()) }
