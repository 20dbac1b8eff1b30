package etcd_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// worker returns a worker of the original over the node's keys.
func (n *aNode) worker() *original {
	return &original{cli: n.cli, prefix: n.prefix, ttl: 10, period: 3 * time.Second, guard: 3 * time.Second,
		clock: func() time.Time { return n.now }}
}

// TestOriginalSkipsOurNodes (E2, E3): a worker of the original does not claim a node that a
// holder of ours has, however old its report.
func TestOriginalSkipsOurNodes(t *testing.T) {
	n := newNode(t, etcd.Config{CompatMixed: true})
	n.take(n.store())
	w := n.worker()
	if err := w.start(t.Context(), 2); err != nil || w.node != 1 {
		t.Errorf("the worker of the original has node %d, %v", w.node, err)
	}
	if err := n.worker().start(t.Context(), 2); !errors.Is(err, errExhausted) {
		t.Errorf("a third on two nodes: %v", err)
	}
}

// TestNodesOfTheOriginalAreSkipped (E2, E3): a live key of the original shows as a holder, and
// no claim passes it.
func TestNodesOfTheOriginalAreSkipped(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	before, free := n.load(s)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	n.refused(s, n.taken(before, free, newAttachment()), "a claim computed before the worker's")
	e, r := n.load(s)
	if r.State != record.Held || r.Acquirable(tick(time.Now())) {
		t.Errorf("the record is %+v", r)
	}
	n.refused(s, n.taken(e, r, newAttachment()), "a claim in spite of the worker")
	list, err := s.List(t.Context(), "default/")
	if err != nil || len(list) != 1 || list[0].Revision != e.Revision {
		t.Fatalf("listed %+v, %v", list, err)
	}
	if listed, err := record.Decode(list[0].Body, nil); err != nil || listed.State != record.Held ||
		listed.Attachment != r.Attachment {
		t.Errorf("listed %+v, %v", listed, err)
	}
	w.stop(t.Context())
	n.take(s)
}

// TestRecentReportIsSkipped (E5, E6): a free node that a worker of the original reported less
// than 3 s ago is not acquirable yet; afterwards grants begin above anything that the worker
// can have used.
func TestRecentReportIsSkipped(t *testing.T) {
	for _, c := range []struct {
		name    string
		ago     time.Duration
		skipped bool
	}{{"2.5 s ago", 2500 * time.Millisecond, true}, {"just now", 0, true}, {"an hour ahead", -time.Hour, true},
		{"3.5 s ago", 3500 * time.Millisecond, false}} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, etcd.Config{})
			s := n.store()
			last := time.Now().Add(-c.ago)
			n.put("last_reported_time", millis(last))
			e, r := n.load(s)
			if skipped := !r.Acquirable(tick(time.Now())); skipped != c.skipped {
				t.Errorf("skipped: %v, want %v: %+v", skipped, c.skipped, r)
			}
			if !r.Acquirable(tick(last.Add(3001 * time.Millisecond))) {
				t.Errorf("still not acquirable 3 s after the report: %+v", r)
			}
			n.swap(s, n.taken(e, r, newAttachment())) // a clock ahead of ours would do that
			if _, now := n.load(s); now.From < tick(last.Add(4*time.Second)) {
				t.Errorf("the grant begins %d ms after the report", now.From-tick(last))
			}
		})
	}
}

// TestClaimSeesALaterReport (E6): a worker of the original that claimed and left in between
// makes the claim fail, and the next one begins above its report.
func TestClaimSeesALaterReport(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	before, free := n.load(s)
	n.now = n.now.Add(time.Hour) // the worker's clock is ahead
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	used := w.use()
	if err := w.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stop(t.Context())
	n.now = time.Now()
	n.refused(s, n.taken(before, free, newAttachment()), "a claim that does not know of the report")
	e, r := n.load(s)
	n.swap(s, n.taken(e, r, newAttachment()))
	if _, now := n.load(s); int64(now.From) <= used {
		t.Errorf("the grant begins at %d, and the worker used %d", now.From, used)
	}
}

// TestOriginalBeforeTheRecord (E6): the report of a worker that ran before the record existed
// counts too.
func TestOriginalBeforeTheRecord(t *testing.T) {
	n := newNode(t, etcd.Config{})
	n.key = "default/5.json"
	last := time.Now().Add(time.Minute)
	if _, err := n.cli.Put(t.Context(), n.prefix+"workers/last_reported_time/5", millis(last)); err != nil {
		t.Fatal(err)
	}
	s := n.store()
	created := n.swap(s, store.Entry{Key: n.key, Body: record.Born(life, nonce()).Encode()})
	e, r := n.load(s)
	if e.Revision != created.Revision || r.Bound < tick(last) || r.Acquirable(tick(time.Now())) {
		t.Errorf("the record is %+v at %s, created at %s", r, e.Revision, created.Revision)
	}
}

// TestOriginalTakesOverSafely: with CompatMixed a worker of the original starts above all that
// a silent holder of ours may still use; without, it may start below, which is why the setting
// exists.
func TestOriginalTakesOverSafely(t *testing.T) {
	n := newNode(t, etcd.Config{CompatMixed: true})
	s := n.store()
	id := n.take(s)
	n.now = n.now.Add(time.Second)
	n.extend(s, id)
	e, held := n.load(s)
	late := n.extended(e, held, id)
	if n.report() != held.Bound-1 {
		t.Errorf("last_reported_time is %d, and the bound %d", n.report(), held.Bound)
	}
	if _, err := n.cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	if err := n.worker().start(t.Context(), 1); !errors.Is(err, errExhausted) {
		t.Errorf("it claims a node inside its grant: %v", err)
	}
	n.now = held.Bound.Time().Add(3 * time.Second)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if used := w.use(); clustertime.Tick(used) < held.Bound {
		t.Errorf("it used %d, inside the grant of ours until %d", used, held.Bound)
	}
	if _, r := n.load(s); r.HeldBy(id) {
		t.Error("the node shows as ours")
	}
	n.refused(s, late, "an extension while the worker has the node")
}

// TestReturnAfterTheOriginalTookOver: the return of a holder whose lease has ended does not end
// the worker of the original that has the node now.
func TestReturnAfterTheOriginalTookOver(t *testing.T) {
	n := newNode(t, etcd.Config{CompatMixed: true})
	s := n.store()
	id := n.take(s)
	e, held := n.load(s)
	if _, err := n.cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	n.now = held.Bound.Time().Add(3 * time.Second)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	free, _ := held.Return(attachment.Release{ID: id}, nonce())
	n.refused(s, n.next(e, free, nil), "a return while the worker has the node")
	if err := w.report(t.Context()); err != nil {
		t.Errorf("the worker of the original: %v", err)
	}
}

// TestOriginalAfterAReturn (E5, E9): after a return the original may have the node 3 s after
// the last time used, also with CompatMixed.
func TestOriginalAfterAReturn(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		n := newNode(t, etcd.Config{CompatMixed: mixed, Prefix: ""})
		s := n.store()
		id := n.take(s)
		used := tick(n.now) + 5
		n.giveBack(s, id, used)
		if n.report() != used {
			t.Errorf("CompatMixed %v: reported %d, want %d", mixed, n.report(), used)
		}
		n.now = used.Time().Add(3 * time.Second)
		if err := n.worker().start(t.Context(), 1); err != nil {
			t.Errorf("CompatMixed %v: %v", mixed, err)
		}
		if _, err := n.cli.Delete(t.Context(), n.prefix, prefixed); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMixedWindow: with CompatMixed a window must not be longer than three reports.
func TestMixedWindow(t *testing.T) {
	n := newNode(t, etcd.Config{CompatMixed: true})
	s := n.store()
	n.window = 15 * time.Second
	e, r := n.load(s)
	if _, err := s.Swap(t.Context(), n.taken(e, r, newAttachment())); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("a window of 15 s: %v", err)
	}
	n.window = 9 * time.Second
	n.take(s)
}

// TestRetiringANodeOfTheOriginal: the worker ends with its next report, and what it used until
// then lies below the record's bound.
func TestRetiringANodeOfTheOriginal(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	e, r := n.load(s)
	retired, _, err := r.Retire(life, nonce())
	n.swap(s, n.next(e, retired, err))
	n.now = time.Now().Add(4 * time.Second)
	used := w.use()
	if w.report(t.Context()) == nil {
		t.Error("the worker still runs")
	}
	if _, now := n.load(s); now.State != record.Retired || int64(now.Bound) <= used {
		t.Errorf("the record is %+v, and the worker used %d", now, used)
	}
}
