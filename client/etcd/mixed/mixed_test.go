package mixed_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestOriginalSkipsOurNodes (E2, E3): a worker does not claim a node that a
// holder of ours has, however old its report.
func TestOriginalSkipsOurNodes(t *testing.T) {
	n := newNode(t)
	n.Take(n.Store())
	w := n.worker()
	if err := w.start(t.Context(), 2); err != nil || w.node != 1 {
		t.Errorf("the worker has node %d, %v", w.node, err)
	}
	if err := n.worker().start(t.Context(), 2); !errors.Is(err, errExhausted) {
		t.Errorf("a third on two nodes: %v", err)
	}
}

// TestNodesOfTheOriginalAreSkipped (E2, E3): a live key of the original shows as a holder, and
// no claim passes it.
func TestNodesOfTheOriginalAreSkipped(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	before, free := n.Load(s)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	n.Refused(s, n.Taken(before, free, etcdtest.NewAttachment()), "a claim computed before the worker's")
	e, r := n.Load(s)
	if r.State != record.Held || r.Acquirable(etcdtest.Tick(time.Now())) {
		t.Errorf("the record is %+v", r)
	}
	n.Refused(s, n.Taken(e, r, etcdtest.NewAttachment()), "a claim in spite of the worker")
	list, err := s.List(t.Context(), "default/")
	if err != nil || len(list) != 1 || list[0].Revision != e.Revision {
		t.Fatalf("listed %+v, %v", list, err)
	}
	if listed, err := record.Decode(list[0].Body, nil); err != nil || listed.State != record.Held ||
		listed.Attachment != r.Attachment {
		t.Errorf("listed %+v, %v", listed, err)
	}
	w.stop(t.Context())
	n.Take(s)
}

// TestRecentReportIsSkipped (E5, E6): a free node that a worker reported less
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
			n := newNode(t)
			s := n.Store()
			last := time.Now().Add(-c.ago)
			n.put("last_reported_time", millis(last))
			e, r := n.Load(s)
			if skipped := !r.Acquirable(etcdtest.Tick(time.Now())); skipped != c.skipped {
				t.Errorf("skipped: %v, want %v: %+v", skipped, c.skipped, r)
			}
			if !r.Acquirable(etcdtest.Tick(last.Add(3001 * time.Millisecond))) {
				t.Errorf("still not acquirable 3 s after the report: %+v", r)
			}
			n.Swap(s, n.Taken(e, r, etcdtest.NewAttachment())) // a clock ahead of ours would do that
			if _, now := n.Load(s); now.From < etcdtest.Tick(last.Add(4*time.Second)) {
				t.Errorf("the grant begins %d ms after the report", now.From-etcdtest.Tick(last))
			}
		})
	}
}

// TestClaimSeesALaterReport (E6): a worker that claimed and left in between
// makes the claim fail, and the next one begins above its report.
func TestClaimSeesALaterReport(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	before, free := n.Load(s)
	n.Now = n.Now.Add(time.Hour) // the worker's clock is ahead
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	used := w.use()
	if err := w.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stop(t.Context())
	n.Now = time.Now()
	n.Refused(s, n.Taken(before, free, etcdtest.NewAttachment()), "a claim that does not know of the report")
	e, r := n.Load(s)
	n.Swap(s, n.Taken(e, r, etcdtest.NewAttachment()))
	if _, now := n.Load(s); int64(now.From) <= used {
		t.Errorf("the grant begins at %d, and the worker used %d", now.From, used)
	}
}

// TestOriginalBeforeTheRecord (E6): the report of a worker that ran before the record existed
// counts too.
func TestOriginalBeforeTheRecord(t *testing.T) {
	n := newNode(t)
	n.Key = "default/5.json"
	last := time.Now().Add(time.Minute)
	if _, err := n.Cli.Put(t.Context(), n.Prefix+"workers/last_reported_time/5", millis(last)); err != nil {
		t.Fatal(err)
	}
	s := n.Store()
	created := n.Swap(s, store.Entry{Key: n.Key, Body: record.Born(etcdtest.Life, etcdtest.Nonce()).Encode()})
	e, r := n.Load(s)
	if e.Revision != created.Revision || r.Bound < etcdtest.Tick(last) || r.Acquirable(etcdtest.Tick(time.Now())) {
		t.Errorf("the record is %+v at %s, created at %s", r, e.Revision, created.Revision)
	}
}

// TestOriginalTakesOverSafely: a worker starts above all that a silent holder of ours may still use.
func TestOriginalTakesOverSafely(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	n.Now = n.Now.Add(time.Second)
	n.Extend(s, id)
	e, held := n.Load(s)
	late := n.Extended(e, held, id)
	if n.report() != held.Bound-1 {
		t.Errorf("last_reported_time is %d, and the bound %d", n.report(), held.Bound)
	}
	if _, err := n.Cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	if err := n.worker().start(t.Context(), 1); !errors.Is(err, errExhausted) {
		t.Errorf("it claims a node inside its grant: %v", err)
	}
	n.Now = held.Bound.Time().Add(3 * time.Second)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if used := w.use(); clustertime.Tick(used) < held.Bound {
		t.Errorf("it used %d, inside the grant of ours until %d", used, held.Bound)
	}
	if _, r := n.Load(s); r.HeldBy(id) {
		t.Error("the node shows as ours")
	}
	n.Refused(s, late, "an extension while the worker has the node")
}

// TestReturnAfterTheOriginalTookOver: the return of a holder whose lease has ended does not end
// the worker that has the node now.
func TestReturnAfterTheOriginalTookOver(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	e, held := n.Load(s)
	if _, err := n.Cli.Revoke(t.Context(), n.lease()); err != nil {
		t.Fatal(err)
	}
	n.Now = held.Bound.Time().Add(3 * time.Second)
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	free, _ := held.Return(attachment.Release{ID: id}, etcdtest.Nonce())
	n.Refused(s, n.Next(e, free, nil), "a return while the worker has the node")
	if err := w.report(t.Context()); err != nil {
		t.Errorf("the worker: %v", err)
	}
}

// TestOriginalAfterAReturn (E5, E9): after a return a worker may have the node 3 s after the last time
// used.
func TestOriginalAfterAReturn(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	used := etcdtest.Tick(n.Now) + 5
	n.GiveBack(s, id, used)
	if n.report() != used {
		t.Errorf("reported %d, want %d", n.report(), used)
	}
	n.Now = used.Time().Add(3 * time.Second)
	if err := n.worker().start(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// TestWindow: a window must not be longer than three reports.
func TestWindow(t *testing.T) {
	n := newNode(t)
	n.Window = 15 * time.Second
	s := n.Store()
	e, r := n.Load(s)
	_, err := s.Swap(t.Context(), n.Taken(e, r, etcdtest.NewAttachment()))
	if !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("a window of 15 s: %v", err)
	}
	if w := s.(interface{ DefaultWindow() time.Duration }).DefaultWindow(); w != 9*time.Second {
		t.Errorf("the suggested window is %v", w)
	}
	n.Window = 9 * time.Second
	n.Take(s)
}

// TestRetiringANodeOfTheOriginal: the worker ends with its next report, and what it used until
// then lies below the record's bound.
func TestRetiringANodeOfTheOriginal(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	w := n.worker()
	if err := w.start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	e, r := n.Load(s)
	retired, _, err := r.Retire(etcdtest.Life, etcdtest.Nonce())
	n.Swap(s, n.Next(e, retired, err))
	n.Now = time.Now().Add(4 * time.Second)
	used := w.use()
	if w.report(t.Context()) == nil {
		t.Error("the worker still runs")
	}
	if _, now := n.Load(s); now.State != record.Retired || int64(now.Bound) <= used {
		t.Errorf("the record is %+v, and the worker used %d", now, used)
	}
}
