package mixed_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRepeatedClaimHasOneLease (EH6, EH11): the second copy of a claim does not change the lease, and
// leaves no lease of its own.
func TestRepeatedClaimHasOneLease(t *testing.T) {
	n := sharedNode{nodeOn(t, mixedStore, etcdtest.Connect(t, etcdtest.Own(t)))}
	s := n.Store()
	e, r := n.Load(s)
	claim := n.Taken(e, r, etcdtest.NewAttachment())
	n.Swap(s, claim)
	lease := n.lease()
	n.Swap(s, claim)
	if now := n.lease(); now != lease || leasesOf(t, n.Cli) != 1 {
		t.Errorf("the live key was on lease %x, and is on %x; etcd has %d leases", lease, now, leasesOf(t, n.Cli))
	}
}

// TestClaimWithoutAnAnswer (EH6): the outcome is open until the next read; then the
// holder renews with the lease of that very claim, and has one node.
func TestClaimWithoutAnAnswer(t *testing.T) {
	n := newNode(t)
	var l etcdtest.Losing
	n.Cli = l.Client(t)
	s, id := n.Store(), etcdtest.NewAttachment()
	e, r := n.Load(s)
	claim := n.Taken(e, r, id)
	l.LoseNext()
	if _, err := s.Swap(t.Context(), claim); err == nil || errors.Is(err, store.ErrChanged) ||
		!errors.Is(err, sequencer.ErrUnavailable) {
		t.Fatalf("a claim without an answer: %v", err)
	}
	if _, r = n.Load(s); !r.HeldBy(id) {
		t.Fatalf("the record is %+v", r)
	}
	lease := n.lease()
	n.Extend(s, id)
	if n.lease() != lease {
		t.Error("the renewal is on another lease")
	}
	n.GiveBack(s, id, 0)
	if n.lease() != 0 {
		t.Error("the live key is there after the return")
	}
}

// TestAbandonedClaimEnds (EH6, EH11): a claim whose holder gets no answer, and does not look,
// costs its node until the lease ends.
func TestAbandonedClaimEnds(t *testing.T) {
	n := newNode(t)
	n.Window = time.Second
	var l etcdtest.Losing
	l.LoseNext()
	n.Cli = l.Client(t)
	s := n.Store()
	e, r := n.Load(s)
	if _, err := s.Swap(t.Context(), n.Taken(e, r, etcdtest.NewAttachment())); err == nil {
		t.Fatal("the answer was not lost")
	}
	if n.lease() == 0 {
		t.Fatal("the claim was not carried out")
	}
	etcdtest.Await(t, 10*time.Second, "free", func() bool { _, r := n.Load(s); return r.State == record.Free })
}

// TestLateCopyAfterAWorker: a copy of a renewal that arrives after its lease has ended, and a worker has
// used the node, is refused although the record still has its body: the holder has lost the node.
func TestLateCopyAfterAWorker(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	e, r := n.Load(s)
	renewal := n.Extended(e, r, id)
	n.Swap(s, renewal)
	_, held := n.Load(s)
	if _, err := n.Cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	n.Refused(s, renewal, "a copy of a renewal whose lease has ended")
	n.Now = held.Bound.Time().Add(3 * time.Second)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	n.Refused(s, renewal, "a copy of a renewal whose node has a worker")
	w.use()
	if err := w.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stop(t.Context())
	n.Refused(s, renewal, "a copy of a renewal after a worker")
}

// TestWatchReportsEndedLeases: a watch reports a live key that has gone.
func TestWatchReportsEndedLeases(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	changes := watch(n.Node, s, "default/")
	n.Take(s)
	changes.reported(n.Key)
	other := *n.Node
	other.Key = "default/1.json"
	other.Create()
	changes.reported(other.Key) // all of the claim has been reported
	if _, err := n.Cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	if next := changes.next(); next != n.Key {
		t.Errorf("the watch reported %s, not the end of the lease", next)
	}
}
