package etcd_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestClaimIsLikeTheOriginal (E1, EH10): the live key has the time of the claim, on a lease of
// 10 s for the suggested window.
func TestClaimIsLikeTheOriginal(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	n.window = s.(interface{ DefaultWindow() time.Duration }).DefaultWindow()
	before := time.Now().UnixMilli()
	n.take(s)
	if ms, err := strconv.ParseInt(value(t, n.cli, n.path("live")), 10, 64); err != nil || ms < before ||
		ms > time.Now().UnixMilli() {
		t.Errorf("live has %d, %v, not the time of the claim", ms, err)
	}
	if ttl, err := n.cli.TimeToLive(t.Context(), n.lease()); err != nil || ttl.GrantedTTL != 10 {
		t.Errorf("the lease has %+v, %v, not 10 s", ttl, err)
	}
	if got := value(t, n.cli, n.path("last_reported_time")); got != "" {
		t.Errorf("a claim reported %s", got)
	}
}

// TestClaimsOfOneNodeHaveOneWinner (E2): however many claim one node concurrently, one gets
// it, the others know that they did not, and their leases are revoked (EH11).
func TestClaimsOfOneNodeHaveOneWinner(t *testing.T) {
	own := ownEtcd(t)
	n := &aNode{t: t, cli: connect(t, own), prefix: "/i3d/", key: "default/0.json", now: time.Now(),
		window: 2 * time.Second}
	n.swap(n.store(), store.Entry{Key: n.key, Body: record.Born(life, nonce()).Encode()})
	const racers = 30
	errs := make([]error, racers)
	var all sync.WaitGroup
	for i := range racers {
		s := n.store()
		e, r := n.load(s)
		want := n.taken(e, r, newAttachment())
		all.Go(func() { _, errs[i] = s.Swap(t.Context(), want) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, store.ErrChanged):
			t.Errorf("a loser got %v", err)
		}
	}
	if won != 1 || leasesOf(t, n.cli) != 1 {
		t.Errorf("%d claims of one node succeeded, and etcd has %d leases; want 1 and 1", won, leasesOf(t, n.cli))
	}
}

// TestRenewalKeepsTheLease (E7): renewals keep the lease of the claim alive.
func TestRenewalKeepsTheLease(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	id := n.take(s)
	lease := n.lease()
	for range 10 { // 4 s, over a lease of 3 s
		time.Sleep(400 * time.Millisecond)
		n.now = time.Now()
		n.extend(s, id)
	}
	if now := n.lease(); now != lease || lease == clientv3.NoLease {
		t.Errorf("the live key was on lease %x, and is on %x", lease, now)
	}
	if _, r := n.load(s); !r.HeldBy(id) {
		t.Errorf("the record is %+v", r)
	}
}

// TestReturnEndsTheLease (E9): a return deletes the live key, revokes its lease, and leaves
// the last time that was used; then the node is free.
func TestReturnEndsTheLease(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	id := n.take(s)
	lease, used := n.lease(), tick(n.now)+1
	n.giveBack(s, id, used)
	if got := value(t, n.cli, n.path("live")); got != "" {
		t.Errorf("the live key is still there: %s", got)
	}
	if ttl, err := n.cli.TimeToLive(t.Context(), lease); err != nil || ttl.TTL != -1 {
		t.Errorf("the lease has %+v, %v, and should have ended", ttl, err)
	}
	if n.report() != used {
		t.Errorf("last_reported_time is %d, not %d", n.report(), used)
	}
	_, r := n.load(s)
	if r.State != record.Free || !r.Graceful || r.Bound != used+1 {
		t.Errorf("the record is %+v", r)
	}
	next, err := r.Take(newAttachment(), "", nonce(), n.bounds())
	if err != nil || next.Version != 2 || !next.Graceful {
		t.Errorf("the next holder has %+v, %v", next, err)
	}
}

// TestReturnWithoutUseReportsNothing: a holder that used nothing does not report a time.
func TestReturnWithoutUseReportsNothing(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	n.giveBack(s, n.take(s), 0)
	if n.report() != 0 {
		t.Errorf("last_reported_time is %d", n.report())
	}
}

// TestEndedLeaseFreesTheNode (E8, E10, EH1): without renewals the live key goes, the record
// shows without a holder and with its bound, its holder cannot extend it, and another can
// take it from its bound. The keys without a lease stay.
func TestEndedLeaseFreesTheNode(t *testing.T) {
	n := newNode(t, etcd.Config{})
	first, second := n.store(), n.store()
	id := n.take(first)
	n.extend(first, id)
	before, held := n.load(first)
	if _, err := n.cli.Revoke(t.Context(), n.lease()); err != nil { // as etcd does by itself
		t.Fatal(err)
	}
	n.refused(first, n.extended(before, held, id), "an extension after the end of the lease")
	e, r := n.load(second)
	if r.State != record.Free || r.Bound != held.Bound || r.Graceful || r.Nonce == held.Nonce {
		t.Fatalf("the record is %+v, and was %+v", r, held)
	}
	other := newAttachment()
	n.swap(second, n.taken(e, r, other))
	_, now := n.load(second)
	if now.From < held.Until || now.Version != 2 || now.Graceful {
		t.Errorf("the next grant %+v overlaps the one before, until %d", now, held.Until)
	}
	n.refused(first, n.extended(before, held, id), "an extension after the node was taken")
	n.refused(first, store.Entry{Key: n.key, Body: before.Body, Revision: before.Revision}, "a write of the old body")
}

// TestLeaseEndsByItself (E10): nothing but renewals keeps a lease alive.
func TestLeaseEndsByItself(t *testing.T) {
	n := newNode(t, etcd.Config{})
	n.window = time.Second
	n.take(n.store())
	await(t, 10*time.Second, "without the live key", func() bool { return n.lease() == 0 })
	if value(t, n.cli, n.path("granted")) == "" {
		t.Error("the record went with the lease")
	}
}

// TestDeletedLiveKeyEndsTheHolder: a person can end a holder by deleting its live key.
func TestDeletedLiveKeyEndsTheHolder(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	id := n.take(s)
	e, r := n.load(s)
	if _, err := n.cli.Delete(t.Context(), n.path("live")); err != nil {
		t.Fatal(err)
	}
	n.refused(s, n.extended(e, r, id), "an extension without a live key")
}

// TestMissingLiveKeyIsNotLeaseZero (EH9): etcd compares the lease of a missing key as 0. A
// store that has no lease for a record must not pass the comparison.
func TestMissingLiveKeyIsNotLeaseZero(t *testing.T) {
	n := newNode(t, etcd.Config{})
	first, second := n.store(), n.store()
	id := n.take(first)
	e, r := n.load(second)
	n.refused(second, n.extended(e, r, id), "an extension by a store without the lease")
	if _, err := n.cli.Put(t.Context(), n.path("live"), "1"); err != nil { // now on lease 0
		t.Fatal(err)
	}
	n.refused(second, n.extended(e, r, id), "an extension of a live key without a lease")
	if _, now := n.load(first); now.HeldBy(id) {
		t.Error("a live key that another program wrote shows as the holder's")
	}
	if _, err := n.cli.Delete(t.Context(), n.path("live")); err != nil {
		t.Fatal(err)
	}
	n.refused(second, n.extended(e, r, id), "an extension without a live key")
	n.refused(first, n.extended(e, r, id), "an extension without a live key, by its holder")
}

// TestTimeToLive: a lease is longer than the window, and at least as long as configured, in
// whole seconds.
func TestTimeToLive(t *testing.T) {
	for _, c := range []struct {
		window, ttl time.Duration
		want        int64
	}{
		{2 * time.Second, 0, 3},
		{2500 * time.Millisecond, 0, 4},
		{2 * time.Second, 5500 * time.Millisecond, 6},
		{time.Minute, 10 * time.Second, 61},
	} {
		t.Run(c.window.String()+c.ttl.String(), func(t *testing.T) {
			n := newNode(t, etcd.Config{TTL: c.ttl})
			n.window = c.window
			n.take(n.store())
			if ttl, err := n.cli.TimeToLive(t.Context(), n.lease()); err != nil || ttl.GrantedTTL != c.want {
				t.Errorf("the lease has %+v, %v, not %d s", ttl, err, c.want)
			}
		})
	}
}

// TestTimeToLiveOfALaterGrant: a grant that begins in the future does not show the window;
// the lease is then that of the suggested one.
func TestTimeToLiveOfALaterGrant(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	e, r := n.load(s)
	repaired, err := record.Repaired(life, tick(n.now.Add(time.Minute)), 0, r.Version, nonce())
	n.swap(s, n.next(e, repaired, err))
	n.take(s)
	if ttl, err := n.cli.TimeToLive(t.Context(), n.lease()); err != nil || ttl.GrantedTTL != 10 {
		t.Errorf("the lease has %+v, %v, not 10 s", ttl, err)
	}
}

// TestOldRevisionIsRefused (ABA): taken and returned by another, a record is not as it was.
func TestOldRevisionIsRefused(t *testing.T) {
	n := newNode(t, etcd.Config{})
	first, second := n.store(), n.store()
	e, r := n.load(first)
	n.giveBack(second, n.take(second), 0)
	n.refused(first, n.taken(e, r, newAttachment()), "a claim with the old revision")
	n.refused(first, store.Entry{Key: n.key, Body: e.Body}, "a creation of an existing record")
	n.refused(first, store.Entry{Key: n.key, Body: e.Body, Revision: "1"}, "a revision of another kind")
	n.refused(first, store.Entry{Key: n.key, Body: e.Body, Revision: "0.0.0"}, "a revision of nothing")
}

// TestRepeatedTransactionSucceeds (EH6): the second copy of a transaction finds its own body,
// which is a success.
func TestRepeatedTransactionSucceeds(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	id := newAttachment()
	e, r := n.load(s)
	claim := n.taken(e, r, id)
	claimed := n.swap(s, claim)
	leases := n.lease()
	if again, err := s.Swap(t.Context(), claim); err != nil || again != claimed.Revision {
		t.Errorf("the claim again: %q, %v, want %q", again, err, claimed.Revision)
	}
	if n.lease() != leases {
		t.Error("the repetition changed the lease")
	}
	e, r = n.load(s)
	renewal := n.extended(e, r, id)
	renewed := n.swap(s, renewal)
	if again, err := s.Swap(t.Context(), renewal); err != nil || again != renewed.Revision {
		t.Errorf("the renewal again: %q, %v, want %q", again, err, renewed.Revision)
	}
}

// TestRetiringEndsTheLease: a record that is retired or closed by another store loses its
// live key, and the holder's store revokes the lease when it next looks.
func TestRetiringEndsTheLease(t *testing.T) {
	n := newNode(t, etcd.Config{})
	holder, operator := n.store(), n.store()
	id := n.take(holder)
	old, held := n.load(holder)
	lease := n.lease()
	e, r := n.load(operator)
	retired, _, err := r.Retire(life, nonce())
	n.swap(operator, n.next(e, retired, err))
	if n.lease() != 0 {
		t.Error("the live key of a retired node is there")
	}
	n.refused(holder, n.extended(old, held, id), "an extension of a retired record")
	if ttl, err := n.cli.TimeToLive(t.Context(), lease); err != nil || ttl.TTL != -1 {
		t.Errorf("the lease has %+v, %v, and should have ended", ttl, err)
	}
}

// TestUnreadableRecordIsReplaced: a body that is not a record can be loaded and replaced.
func TestUnreadableRecordIsReplaced(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	n.put("granted", "not JSON")
	e, err := s.Load(t.Context(), n.key)
	if err != nil || string(e.Body) != "not JSON" {
		t.Fatalf("loaded %q, %v", e.Body, err)
	}
	fixed, err := record.Repaired(life, tick(n.now), 0, 5, nonce())
	n.swap(s, n.next(e, fixed, err))
	n.take(s)
}

// TestOtherKeys: keys that are not records are compared by revision alone.
func TestOtherKeys(t *testing.T) {
	n := newNode(t, etcd.Config{})
	s := n.store()
	for _, key := range []string{"default/sequencer.json", "orders/node-ids-initialized", "probe"} {
		one := n.swap(s, store.Entry{Key: key, Body: []byte("one")})
		n.refused(s, store.Entry{Key: key, Body: []byte("one")}, "a second creation")
		two := n.swap(s, store.Entry{Key: key, Body: []byte("two"), Revision: one.Revision})
		n.refused(s, store.Entry{Key: key, Body: []byte("three"), Revision: one.Revision}, "a stale write")
		if got, err := s.Load(t.Context(), key); err != nil || string(got.Body) != "two" || got.Revision != two.Revision {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
		with := n.swap(s, store.Entry{Key: key, Body: []byte(`{"nonce":"a"}`), Revision: two.Revision})
		if again, err := s.Swap(t.Context(), store.Entry{Key: key, Body: []byte(`{"nonce":"a"}`),
			Revision: two.Revision}); err != nil || again != with.Revision {
			t.Errorf("%s: the same write again: %q, %v", key, again, err)
		}
	}
	if _, err := s.Load(t.Context(), "missing"); !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("a missing key: %v", err)
	}
	if _, err := s.Swap(t.Context(), store.Entry{Key: "empty"}); !errors.Is(err, sequencer.ErrInvalidConfig) {
		t.Errorf("an empty body: %v", err)
	}
}
