package mixed_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/etcd/internal/etcdtest"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/record"
)

// TestClaimIsLikeTheOriginal (E1, EH10): the live key has the time of the claim, on a lease of
// 10 s for the suggested window.
func TestClaimIsLikeTheOriginal(t *testing.T) {
	n := newNode(t)
	n.Window = 9 * time.Second
	s := n.Store()
	before := time.Now().UnixMilli()
	n.Take(s)
	if ms, err := strconv.ParseInt(etcdtest.Value(t, n.Cli, n.path("live")), 10, 64); err != nil || ms < before ||
		ms > time.Now().UnixMilli() {
		t.Errorf("live has %d, %v, not the time of the claim", ms, err)
	}
	if ttl, err := n.Cli.TimeToLive(t.Context(), n.lease()); err != nil || ttl.GrantedTTL != 10 {
		t.Errorf("the lease has %+v, %v, not 10 s", ttl, err)
	}
	if _, r := n.Load(s); n.report() != r.Bound-1 {
		t.Errorf("a claim reported %d, and its grant ends at %d", n.report(), r.Bound)
	}
}

// TestClaimsOfOneNodeHaveOneWinner (E2): however many claim one node concurrently, one gets
// it, the others know that they did not, and their leases are revoked (EH11).
func TestClaimsOfOneNodeHaveOneWinner(t *testing.T) {
	n := nodeOn(t, mixedStore, etcdtest.Connect(t, etcdtest.Own(t)))
	const racers = 30
	errs := make([]error, racers)
	var all sync.WaitGroup
	for i := range racers {
		s := n.Store()
		e, r := n.Load(s)
		want := n.Taken(e, r, etcdtest.NewAttachment())
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
	if won != 1 || leasesOf(t, n.Cli) != 1 {
		t.Errorf("%d claims of one node succeeded, and etcd has %d leases; want 1 and 1", won, leasesOf(t, n.Cli))
	}
}

// TestRenewalKeepsTheLease (E7): renewals keep the lease of the claim alive.
func TestRenewalKeepsTheLease(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	lease := n.lease()
	for range 10 { // 4 s, over a lease of 3 s
		time.Sleep(400 * time.Millisecond)
		n.Now = time.Now()
		n.Extend(s, id)
	}
	if now := n.lease(); now != lease || lease == clientv3.NoLease {
		t.Errorf("the live key was on lease %x, and is on %x", lease, now)
	}
	if _, r := n.Load(s); !r.HeldBy(id) {
		t.Errorf("the record is %+v", r)
	}
}

// TestReturnEndsTheLease (E9): a return deletes the live key, revokes its lease, and leaves
// the last time that was used; then the node is free.
func TestReturnEndsTheLease(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	lease, used := n.lease(), etcdtest.Tick(n.Now)+1
	n.GiveBack(s, id, used)
	if got := etcdtest.Value(t, n.Cli, n.path("live")); got != "" {
		t.Errorf("the live key is still there: %s", got)
	}
	if ttl, err := n.Cli.TimeToLive(t.Context(), lease); err != nil || ttl.TTL != -1 {
		t.Errorf("the lease has %+v, %v, and should have ended", ttl, err)
	}
	if n.report() != used {
		t.Errorf("last_reported_time is %d, not %d", n.report(), used)
	}
	_, r := n.Load(s)
	if r.State != record.Free || !r.Graceful || r.Bound != used+1 {
		t.Errorf("the record is %+v", r)
	}
	next, err := r.Take(etcdtest.NewAttachment(), "", etcdtest.Nonce(), n.Bounds())
	if err != nil || next.Version != 2 || !next.Graceful {
		t.Errorf("the next holder has %+v, %v", next, err)
	}
}

// TestReturnWithoutUse: the report of a holder that used nothing lies before its grant.
func TestReturnWithoutUse(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	_, r := n.Load(s)
	n.GiveBack(s, id, 0)
	if n.report() != r.From-1 {
		t.Errorf("last_reported_time is %d, and the grant began at %d", n.report(), r.From)
	}
}

// TestEndedLeaseFreesTheNode (E8, E10, EH1): without renewals the live key goes, the record
// shows without a holder and with its bound, its holder cannot extend it, and another can
// take it from its bound. The keys without a lease stay.
func TestEndedLeaseFreesTheNode(t *testing.T) {
	n := newNode(t)
	first, second := n.Store(), n.Store()
	id := n.Take(first)
	n.Extend(first, id)
	before, held := n.Load(first)
	if _, err := n.Cli.Revoke(t.Context(), n.lease()); err != nil { // as etcd does by itself
		t.Fatal(err)
	}
	n.Refused(first, n.Extended(before, held, id), "an extension after the end of the lease")
	e, r := n.Load(second)
	if r.State != record.Free || r.Bound != held.Bound || r.Graceful || r.Nonce == held.Nonce {
		t.Fatalf("the record is %+v, and was %+v", r, held)
	}
	other := etcdtest.NewAttachment()
	n.Swap(second, n.Taken(e, r, other))
	_, now := n.Load(second)
	if now.From < held.Until || now.Version != 2 || now.Graceful {
		t.Errorf("the next grant %+v overlaps the one before, until %d", now, held.Until)
	}
	n.Refused(first, n.Extended(before, held, id), "an extension after the node was taken")
	n.Refused(first, store.Entry{Key: n.Key, Body: before.Body, Revision: before.Revision}, "a write of the old body")
}

// TestLeaseEndsByItself (E10): nothing but renewals keeps a lease alive.
func TestLeaseEndsByItself(t *testing.T) {
	n := newNode(t)
	n.Window = time.Second
	s := n.Store()
	n.Take(s)
	etcdtest.Await(t, 10*time.Second, "without the live key", func() bool { return n.lease() == 0 })
	if _, r := n.Load(s); r.State != record.Free || r.Version != 1 {
		t.Errorf("the record is %+v", r)
	}
}

// TestDeletedLiveKeyEndsTheHolder: a person can end a holder by deleting its live key.
func TestDeletedLiveKeyEndsTheHolder(t *testing.T) {
	n := newNode(t)
	s := n.Store()
	id := n.Take(s)
	e, r := n.Load(s)
	if _, err := n.Cli.Delete(t.Context(), n.path("live")); err != nil {
		t.Fatal(err)
	}
	n.Refused(s, n.Extended(e, r, id), "an extension without a live key")
}

// TestExtensionNeedsItsLiveKey (EH9): a renewal passes only with the live key that it has seen, on its
// own lease: not with another one, one without a lease, or none.
func TestExtensionNeedsItsLiveKey(t *testing.T) {
	n := newNode(t)
	first, second := n.Store(), n.Store()
	id := n.Take(first)
	e, r := n.Load(second)
	claim := n.Taken(e, r, etcdtest.NewAttachment())
	n.Refused(second, claim, "a claim beside a live key")
	claim.Renewal = true
	n.Refused(second, claim, "a claim beside a live key that is marked as a renewal")
	if _, err := n.Cli.Put(t.Context(), n.path("live"), "1"); err != nil { // now on lease 0
		t.Fatal(err)
	}
	n.Refused(second, n.Extended(e, r, id), "an extension of a live key without a lease")
	if _, now := n.Load(first); now.HeldBy(id) {
		t.Error("a live key that another program wrote shows as the holder's")
	}
	if _, err := n.Cli.Delete(t.Context(), n.path("live")); err != nil {
		t.Fatal(err)
	}
	n.Refused(second, n.Extended(e, r, id), "an extension without a live key")
	n.Refused(first, n.Extended(e, r, id), "an extension without a live key, by its holder")
}

// TestOldRevisionIsRefused (ABA): taken and returned by another, a record is not as it was.
func TestOldRevisionIsRefused(t *testing.T) {
	n := newNode(t)
	first, second := n.Store(), n.Store()
	e, r := n.Load(first)
	n.GiveBack(second, n.Take(second), 0)
	n.Refused(first, n.Taken(e, r, etcdtest.NewAttachment()), "a claim with the old revision")
	n.Refused(first, store.Entry{Key: n.Key, Body: e.Body}, "a creation of an existing record")
	n.Refused(first, store.Entry{Key: n.Key, Body: e.Body, Revision: "1"}, "a revision of another kind")
	n.Refused(first, store.Entry{Key: n.Key, Body: e.Body, Revision: "0.0.0"}, "a revision of nothing")
}

// TestRetiringEndsTheLease: a record that is retired or closed by another store loses its
// live key, with the lease.
func TestRetiringEndsTheLease(t *testing.T) {
	n := newNode(t)
	holder, operator := n.Store(), n.Store()
	id := n.Take(holder)
	old, held := n.Load(holder)
	lease := n.lease()
	e, r := n.Load(operator)
	retired, _, err := r.Retire(etcdtest.Life, etcdtest.Nonce())
	n.Swap(operator, n.Next(e, retired, err))
	if n.lease() != 0 {
		t.Error("the live key of a retired node is there")
	}
	n.Refused(holder, n.Extended(old, held, id), "an extension of a retired record")
	if ttl, err := n.Cli.TimeToLive(t.Context(), lease); err != nil || ttl.TTL != -1 {
		t.Errorf("the lease has %+v, %v, and should have ended", ttl, err)
	}
}

// TestTimeToLive: a lease is a second longer than the window, in whole seconds.
func TestTimeToLive(t *testing.T) {
	for window, want := range map[time.Duration]int64{2 * time.Second: 3, 2500 * time.Millisecond: 4,
		9 * time.Second: 10} {
		t.Run(window.String(), func(t *testing.T) {
			n := newNode(t)
			n.Window = window
			n.Take(n.Store())
			if ttl, err := n.Cli.TimeToLive(t.Context(), n.lease()); err != nil || ttl.GrantedTTL != want {
				t.Errorf("the lease has %+v, %v, not %d s", ttl, err, want)
			}
		})
	}
}

// TestTimeToLiveOfALaterGrant: a grant that begins in the future does not show the window; the lease
// then lasts for the suggested window, or for the longest one before.
func TestTimeToLiveOfALaterGrant(t *testing.T) {
	for window, want := range map[time.Duration]int64{0: 10, 5 * time.Second: 6} {
		t.Run(window.String(), func(t *testing.T) {
			n := newNode(t)
			s := n.Store()
			if window > 0 {
				n.Window = window
				n.GiveBack(s, n.Take(s), 0)
			}
			e, r := n.Load(s)
			repaired, err := record.Repaired(etcdtest.Life, etcdtest.Tick(n.Now.Add(time.Minute)), 0, r.Version,
				etcdtest.Nonce())
			n.Swap(s, n.Next(e, repaired, err))
			n.Window = 2 * time.Second
			n.Take(s)
			if ttl, err := n.Cli.TimeToLive(t.Context(), n.lease()); err != nil || ttl.GrantedTTL != want {
				t.Errorf("the lease has %+v, %v, not %d s", ttl, err, want)
			}
		})
	}
}

// TestOtherKeys: all keys but the records of shared nodes are the plain store's.
func TestOtherKeys(t *testing.T) {
	n := newNode(t)
	s, plain := n.Store(), etcdtest.Plain.Open(n.Cli, n.Prefix+"snowgrid/")
	for _, key := range []string{"default/sequencer.json", "default/node-ids-initialized", "orders/0.json", "probe"} {
		written := n.Swap(s, store.Entry{Key: key, Body: []byte("one")})
		got, err := plain.Load(t.Context(), key)
		if err != nil || string(got.Body) != "one" || got.Revision != written.Revision {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
	workers, err := n.Cli.Get(t.Context(), n.Prefix+"workers/", clientv3.WithPrefix())
	if err != nil || len(workers.Kvs) > 0 {
		t.Errorf("keys of workers: %v, %v", workers, err)
	}
}
