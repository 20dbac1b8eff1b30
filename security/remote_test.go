package security_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestDialersAcceptMembersAlone: at the handshake, and later, a process that is not a member is
// refused though its authority is trusted.
func TestDialersAcceptMembersAlone(t *testing.T) {
	dir := directory(t, newAuthority(t), authority.Request{Name: "m1", Role: security.Member})
	member := load(t, dir, security.Member)
	strict, err := security.Load(security.Config{Dir: dir,
		Rules: []security.Rule{{Match: "subject:*", Role: security.Holder}}}, security.Member)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := meet(t, member.Server(), strict.Client("x:1")); !errors.Is(err, security.ErrUnauthenticated) ||
		!strings.Contains(err.Error(), "no member") {
		t.Errorf("the handshake ends with %v", err)
	}
	conf := member.Client("x:1").Clone()
	state, serverErr, clientErr := meet(t, member.Server(), conf)
	if serverErr != nil || clientErr != nil {
		t.Fatal(serverErr, clientErr)
	}
	if p, err := member.Called(&state).Peer(); err != nil || p.Role != security.Member {
		t.Errorf("a member is %v, %v", p, err)
	}
	if _, err := strict.Called(&state).Peer(); !errors.Is(err, security.ErrUnauthenticated) {
		t.Errorf("after the handshake it is %v", err)
	}
	if _, err := member.Called(nil).Peer(); !errors.Is(err, security.ErrUnauthenticated) {
		t.Errorf("a member in clear text is %v", err)
	}
}

// TestConnectionsEndWithTheirRemotes: Watch ends a connection when the authority of its remote
// is trusted no longer, and when its certificate ends, and no other.
func TestConnectionsEndWithTheirRemotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := newAuthority(t)
		dir := directory(t, ours,
			authority.Request{Name: "m1", Role: security.Member},
			authority.Request{Name: "web", Role: security.Holder, TTL: time.Hour},
			authority.Request{Name: "ops", Role: security.Admin},
		)
		member := load(t, dir, security.Member)
		keep := func(role security.Role) (ended chan error, forget func()) {
			state, serverErr, clientErr := meet(t, member.Server(), load(t, dir, role).Client("x:1"))
			if serverErr != nil || clientErr != nil {
				t.Fatal(serverErr, clientErr)
			}
			ended = make(chan error, 1)
			return ended, member.Caller(&state).Keep(func(err error) { ended <- err })
		}
		short, _ := keep(security.Holder)
		long, _ := keep(security.Admin)
		closed, forget := keep(security.Holder)
		forget()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go member.Watch(ctx, func(err error) {
			if err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Hour - time.Second)
		if len(short)+len(long) > 0 {
			t.Error("a connection ends before its certificate")
		}
		time.Sleep(2 * time.Second)
		if len(short) != 1 || len(long) > 0 {
			t.Error("the connection of an expired certificate stays, or that of another ends")
		} else if err := <-short; !errors.Is(err, security.ErrUnauthenticated) || !strings.Contains(err.Error(), "expired") {
			t.Errorf("it ends with %v", err)
		}
		fresh := directory(t, newAuthority(t), authority.Request{Name: "m1", Role: security.Member})
		replace(t, dir, fresh, "ca.crt", "member.crt", "member.key")
		time.Sleep(11 * time.Second)
		if len(long) != 1 {
			t.Error("the connection of an authority that is trusted no longer stays")
		}
		if len(closed) > 0 {
			t.Error("a connection that has ended is ended again")
		}
	})
}

// TestExpiryOfTheAuthority: the authority above the own certificate counts, not another that
// is trusted, too.
func TestExpiryOfTheAuthority(t *testing.T) {
	now := time.Now()
	ours, err := authority.New("ours", now, 100*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	dir := directory(t, ours, authority.Request{Name: "m1", Role: security.Member, TTL: time.Hour})
	member := load(t, dir, security.Member)
	if d := member.AuthorityExpiry().Sub(now); d < 99*time.Hour || d > 101*time.Hour {
		t.Errorf("the authority ends in %v", d)
	}
	if d := member.Expiry().Sub(now); d < 50*time.Minute || d > 70*time.Minute {
		t.Errorf("the certificate ends in %v", d)
	}
}
