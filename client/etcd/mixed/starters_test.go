package mixed_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/internal/record"
)

// starters checks that 8 of 20 processes get different ones of 8 nodes, and 12 wait. When three are
// killed, exactly three of the waiting ones take their nodes, in the next version.
func starters(t *testing.T, k etcdtest.Kind) {
	const starters, nodes = 20, 8
	all := workers(t, k, starters, nodes, 2*time.Second, 2*time.Millisecond)
	etcdtest.Await(t, 60*time.Second, "8 holders", func() bool { return len(holders(t, all)) == nodes })
	n := &etcdtest.Node{T: t, Kind: k, Cli: etcdtest.Connect(t, etcdtest.Shared(t)), Prefix: all[0].work.Prefix}
	versions := func() (out []uint64) {
		for i := range nodes {
			n.Key = fmt.Sprintf("default/%d.json", i)
			_, r := n.Load(n.Store())
			out = append(out, r.Version)
		}
		return out
	}
	if got := versions(); slices.Max(got) != 1 || slices.Min(got) != 1 {
		t.Fatalf("the versions are %d", got)
	}
	first := holders(t, all)
	for _, node := range []int{1, 4, 6} {
		first[node].kill()
		all = slices.DeleteFunc(all, func(p *process) bool { return p == first[node] })
	}
	etcdtest.Await(t, 60*time.Second, "8 holders after three were killed",
		func() bool { return len(holders(t, all)) == nodes })
	time.Sleep(3 * time.Second) // for a fourth, if there is one
	second := holders(t, all)
	if len(second) != nodes {
		t.Errorf("%d processes have a node", len(second))
	}
	for node := range nodes {
		if killed := node == 1 || node == 4 || node == 6; killed == (first[node] == second[node]) {
			t.Errorf("node %d: its holder was killed: %v; it has the same one: %v", node, killed, !killed)
		}
	}
	if got, want := versions(), []uint64{1, 2, 1, 1, 2, 1, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("the versions are %d, want %d", got, want)
	}
	for _, p := range all {
		if _, has := p.node(); has {
			continue
		}
		p.kill()
	}
	for _, p := range second {
		p.leave()
	}
	all = append(all, first[1], first[4], first[6])
	t.Logf("%d IDs, no two equal", allDiffer(t, all))
}

// stoppedHolder checks that a process that is stopped in a tight loop for three windows loses its node to
// another (EH1). Continued, it issues no ID of that node, prints the reason, and continues under the next
// node that is free.
func stoppedHolder(t *testing.T, k etcdtest.Kind) {
	const window = 2 * time.Second
	all := workers(t, k, 2, 2, window, 0)
	etcdtest.Await(t, 30*time.Second, "2 holders", func() bool { return len(holders(t, all)) == 2 })
	byNode := holders(t, all)
	stopped, other := byNode[0], byNode[1]
	another := stopped.work
	another.File += "-third"
	third := another.start(t)
	all = append(all, third)
	time.Sleep(window)
	if node, has := third.node(); has {
		t.Fatalf("the third process has node %d of 2", node)
	}
	stopped.signal(syscall.SIGSTOP)
	until := time.Now().Add(3 * window)
	etcdtest.Await(t, 30*time.Second, "the third process has the node", func() bool {
		node, has := third.node()
		return has && node == 0
	})
	time.Sleep(time.Until(until))
	before := stopped.saidSoFar()
	stopped.signal(syscall.SIGCONT)
	etcdtest.Await(t, 30*time.Second, "a reason", func() bool { return stopped.said("waits", before) })
	other.leave()
	etcdtest.Await(t, 30*time.Second, "the continued process has the other node",
		func() bool { return stopped.said("node 1", before) })
	if stopped.said("node 0", before) {
		t.Error("the continued process used its old node")
	}
	stopped.leave()
	third.leave()
	t.Logf("%d IDs, no two equal", allDiffer(t, all))
}

// leftNodeIsTakenSoon checks that a node that was returned is taken without a wait (E9).
func leftNodeIsTakenSoon(t *testing.T, k etcdtest.Kind) {
	all := workers(t, k, 2, 1, 9*time.Second, 2*time.Millisecond)
	etcdtest.Await(t, 30*time.Second, "a holder", func() bool { return len(holders(t, all)) == 1 })
	holder := holders(t, all)[0]
	next := all[0]
	if next == holder {
		next = all[1]
	}
	holder.leave()
	etcdtest.Await(t, 3*time.Second, "taken by the other", func() bool { _, has := next.node(); return has })
	n := &etcdtest.Node{T: t, Kind: k, Cli: etcdtest.Connect(t, etcdtest.Shared(t)), Prefix: next.work.Prefix,
		Key: "default/0.json"}
	if _, r := n.Load(n.Store()); r.Version != 2 || !r.Graceful || r.State != record.Held {
		t.Errorf("the record is %+v", r)
	}
	next.leave()
	t.Logf("%d IDs, no two equal", allDiffer(t, all))
}
