package grid_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	pki "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// numberAttack has an attacker ask for numbers.
type numberAttack struct {
	t  *testing.T
	by *evil.Attacker
	at evil.Target
}

func (n numberAttack) apply(set string, id uint64) error {
	in := wire.IdentityApplyRequest{Cluster: "evil", Name: set, ID: id, Code: numbers.Code{1}, Addr: "evil:1"}
	return n.by.Ask(n.t.Context(), n.at, wire.PathIdentityApply, in, new(wire.IdentityApplyResponse))
}

func (n numberAttack) register(set string,
	change func(*wire.IdentityRegisterRequest)) (out wire.IdentityRegisterResponse, err error) {
	in := wire.IdentityRegisterRequest{Cluster: "evil", Name: set, ID: 1, Code: numbers.Code{1}, Start: numbers.Code{1}}
	change(&in)
	err = n.by.Ask(n.t.Context(), n.at, wire.PathIdentityRegister, in, &out)
	return out, err
}

// TestAttackByRegistrations: registrations of one credential are paced, and those of another one do not wait
// for them.
func TestAttackByRegistrations(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, false, func(t *testing.T, b *besieged) {
		const atOnce = 1000
		seconds := long.Or(2, 10)
		n := numberAttack{t, b.identified(security.Holder), b.target("m2")}
		other := numberAttack{t, b.unlimited(security.Holder), b.target("m3")}
		defer n.by.Keep()()
		for who, set := range map[*numberAttack]string{&n: "orders-1", &other: "web"} {
			if err := who.apply(set, 1); err != nil {
				t.Fatal(err)
			}
		}
		began, last := time.Now(), uint64(0)
		for i := range atOnce + seconds*25*runtime.GOMAXPROCS(0) {
			out, err := n.register("orders-1", func(in *wire.IdentityRegisterRequest) {
				in.Start, in.Incarnation = numbers.Code{byte(i), byte(i >> 8), 2}, last
			})
			if err != nil {
				t.Fatalf("registration %d: %v", i, err)
			}
			last = out.Incarnation
		}
		if took := time.Since(began); took < time.Duration(seconds-1)*time.Second {
			t.Errorf("%d registrations above the burst took %v, want %d s", seconds*25*runtime.GOMAXPROCS(0), took, seconds)
		}
		began = time.Now()
		if _, err := other.register("web", func(*wire.IdentityRegisterRequest) {}); err != nil ||
			time.Since(began) > time.Second {
			t.Errorf("another holder: %v after %v", err, time.Since(began))
		}
		b.ids.during(2*time.Second, "after the registrations")
	})
}

// unlimited returns an attacker with a certificate of a role without a limit to names.
func (b *besieged) unlimited(role security.Role) *evil.Attacker {
	b.t.Helper()
	cert, err := evil.Issue(b.authority, gridtest.Now(), pki.Request{Name: "web", Role: role})
	if err != nil {
		b.t.Fatal(err)
	}
	conf := evil.Trusting(b.authority, cert)
	conf.Time = gridtest.Now
	return &evil.Attacker{Name: "unlimited", Role: role, TLS: conf, Dial: b.g.Network.Host("web").Dial,
		Refusal: security.ErrDenied}
}

// makeRoom has an admin remove a set of an attacker, who then makes another one.
func (b *besieged) makeRoom(n numberAttack) {
	b.t.Helper()
	admin := b.unlimited(security.Admin)
	drop := wire.IdentityDropRequest{Cluster: "evil", Name: "orders-set-0"}
	if err := n.by.Ask(b.t.Context(), n.at, wire.PathIdentityDrop, drop, new(wire.IdentityDropResponse)); !errors.Is(err,
		security.ErrDenied) {
		b.t.Errorf("a drop by a holder: %v", err)
	}
	if err := admin.Ask(b.t.Context(), n.at, wire.PathIdentityClean, wire.IdentityCleanRequest{Cluster: "evil",
		Name: "orders-set-0", IDs: []uint64{1}, Force: true}, new(wire.IdentityCleanResponse)); err != nil {
		b.t.Fatal(err)
	}
	var out wire.IdentityDropResponse
	if err := admin.Ask(b.t.Context(), n.at, wire.PathIdentityDrop, drop, &out); err != nil || out.Next != 2 {
		b.t.Errorf("a drop: %+v, %v", out, err)
	}
	if err := n.apply("orders-set-new", 1); err != nil {
		b.t.Errorf("a set in the room of another: %v", err)
	}
}

// TestAttackByNumbers: a holder gets numbers of the sets of its names, a share of them, as
// itself alone, and no incarnation that no member could read.
func TestAttackByNumbers(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		passesOn := slices.DeleteFunc(b.g.Running(), func(name string) bool { return name == b.g.Leader() })[0]
		n := numberAttack{t, b.identified(security.Holder), b.target(passesOn)}
		if err := n.apply("bills", 1); !errors.Is(err, security.ErrDenied) {
			t.Errorf("a number of another's set: %v", err)
		}
		if err := n.by.Ask(t.Context(), n.at, wire.PathIdentityNext, wire.IdentityNextRequest{Cluster: "evil", Name: "bills"},
			new(wire.IdentityNextResponse)); !errors.Is(err, security.ErrDenied) {
			t.Errorf("the next number of another's set: %v", err)
		}
		if err := n.apply("orders-1", 1); err != nil {
			t.Fatal(err)
		}
		for _, incarnation := range []uint64{1<<53 - 2, 1<<53 - 1, 1 << 53, math.MaxInt64, math.MaxUint64} {
			if out, err := n.register("orders-1",
				func(in *wire.IdentityRegisterRequest) { in.Incarnation = incarnation }); err == nil {
				t.Errorf("incarnation %d is accepted: %+v", incarnation, out)
			}
		}
		if _, err := n.register("orders-1", func(in *wire.IdentityRegisterRequest) {
			in.Member = b.target("m1").Member.Member()
		}); !errors.Is(err, security.ErrDenied) {
			t.Errorf("a number of a member: %v", err)
		}
		if out, err := n.register("orders-1", func(*wire.IdentityRegisterRequest) {}); err != nil || out.Incarnation != 1 {
			t.Errorf("an honest registration: %+v, %v", out, err)
		}
		sets := 1
		for i := range 2 * numbers.MaxSets {
			err := n.apply(fmt.Sprint("orders-set-", i), 1)
			if err != nil {
				if !errors.Is(err, sequencer.ErrQuota) {
					t.Errorf("set %d: %v", i, err)
				}
				break
			}
			sets++
		}
		if want := numbers.MaxSets / 8; sets != want {
			t.Errorf("a holder with a limit to names has %d sets, want %d", sets, want)
		}
		unlimited := numberAttack{t, b.unlimited(security.Holder), b.target("m3")}
		if err := unlimited.apply("web", 1); err != nil {
			t.Errorf("a holder without a limit: %v", err)
		}
		listed := new(wire.IdentityListResponse)
		if err := n.by.Ask(t.Context(), n.at, wire.PathIdentity, wire.IdentityListRequest{}, listed); err != nil ||
			len(listed.Sets) != sets {
			t.Errorf("it sees %d sets, %v", len(listed.Sets), err)
		}
		b.makeRoom(n)
		b.ids.during(2*time.Second, "after the numbers")
	})
}
