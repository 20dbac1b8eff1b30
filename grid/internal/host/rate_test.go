package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/partition"
)

// TestRatesOfEachPeer: a peer gets the calls of a second in a burst, and then as many as the
// rate allows. Another one is not concerned.
func TestRatesOfEachPeer(t *testing.T) {
	var r rates
	a, b := rateKey{"a", "*"}, rateKey{"b", "*"}
	for i := range 10 {
		if wait := r.take(time.Hour, a, 10); wait != 0 {
			t.Fatalf("call %d has to wait %v", i, wait)
		}
	}
	wait := r.take(time.Hour, a, 10)
	if wait <= 90*time.Millisecond || wait > 100*time.Millisecond {
		t.Errorf("the 11th call is to wait %v", wait)
	}
	if wait := r.take(time.Hour, b, 10); wait != 0 {
		t.Errorf("another peer has to wait %v", wait)
	}
	if wait := r.take(time.Hour, rateKey{"a", "x"}, 10); wait != 0 {
		t.Errorf("the peer has to wait %v for another quota", wait)
	}
	if again := r.take(time.Hour+wait-time.Millisecond, a, 10); again == 0 {
		t.Error("it need not wait as long as it was told")
	}
	if again := r.take(time.Hour+wait+time.Microsecond, a, 10); again != 0 {
		t.Errorf("after the wait it is to wait %v more", again)
	}
	served := 0
	for now := 2 * time.Hour; now < 2*time.Hour+10*time.Second; now += time.Millisecond {
		if r.take(now, a, 10) == 0 {
			served++
		}
	}
	if served < 109 || served > 111 { // 10 in a burst, and 100 in 10 s
		t.Errorf("%d calls were served in 10 s", served)
	}
}

// TestRatesAreBounded: beyond the bound active peers share a bucket, and the places of those
// that make no calls are taken by others.
func TestRatesAreBounded(t *testing.T) {
	var r rates
	peer := func(i int) rateKey { return rateKey{partition.Peer(fmt.Sprint(i)), "*"} }
	for i := range bucketsMax {
		r.take(time.Hour, peer(i), 2)
	}
	shared := 0
	for i := range 100 {
		if r.take(time.Hour, peer(bucketsMax+i), 2) == 0 {
			shared++
		}
	}
	if len(r.buckets) > bucketsMax+1 || shared != 2 {
		t.Errorf("%d buckets, and %d calls of the peers beyond were served", len(r.buckets), shared)
	}
	if wait := r.take(time.Hour, peer(3), 2); wait != 0 {
		t.Errorf("one that has a bucket is to wait %v", wait)
	}
	if wait := r.take(time.Hour+2*time.Second, peer(bucketsMax+200), 2); wait != 0 || len(r.buckets) > 2 {
		t.Errorf("later: wait %v, %d buckets", wait, len(r.buckets))
	}
}

// TestSite: one IPv6 host may use a whole /64.
func TestSite(t *testing.T) {
	for host, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "10.1.2.3", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64", "pipe": "pipe",
	} {
		if got := site(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
