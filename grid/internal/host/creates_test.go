package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
)

// TestPaceOfNewSequencers: a credential creates as many new sequencers as a second allows in a burst,
// and then waits for each. Another one is not concerned.
func TestPaceOfNewSequencers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCreates()
		burst := newAtOnce * runtime.GOMAXPROCS(0)
		for i := range burst {
			if !p.take("evil", time.Now()) {
				t.Fatalf("create %d has no turn", i)
			}
		}
		if p.take("evil", time.Now()) {
			t.Fatal("one more than a burst has a turn")
		}
		if !p.take("web", time.Now()) {
			t.Error("another credential has no turn")
		}
		began := time.Now()
		for range 10 {
			if err := p.wait(t.Context(), "evil"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 10*p.each {
			t.Errorf("ten turns took %v, each is %v", took, p.each)
		}
		p.giveBack("evil", time.Now())
		if !p.take("evil", time.Now()) || p.take("evil", time.Now()) {
			t.Error("a turn that was given back is not exactly one turn")
		}
	})
}

// TestPacedRoles: creates of holders are paced; those of admins and members are not.
func TestPacedRoles(t *testing.T) {
	for role, want := range map[security.Role]bool{security.Holder: true, security.NoRole: true, security.Admin: false,
		security.Member: false} {
		if got := isPaced(role); got != want {
			t.Errorf("role %q: %v, want %v", role, got, want)
		}
	}
}

// TestPaceRefuses: creates whose turn is too far, or that are too many, are told when to come again.
func TestPaceRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCreates()
		for p.take("evil", time.Now()) {
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		served, refused := 0, 0
		began := time.Now()
		for range 3 * newWaits {
			all.Go(func() {
				err := p.wait(t.Context(), "evil")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					served++
					return
				}
				refused++
				if later := new(wire.LaterError); !errors.Is(err, wire.ErrOverloaded) || !errors.As(err, &later) ||
					later.After < newWait {
					t.Errorf("refused: %v", err)
				}
			})
		}
		all.Wait()
		if want := min(newWaits, int(newWait/p.each)); served != want || refused != 3*newWaits-want {
			t.Errorf("%d were served and %d refused", served, refused)
		}
		if took := time.Since(began); took > newWait {
			t.Errorf("one waited for %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(time.Second / 2)
		if err := p.wait(ctx, "evil"); !errors.Is(err, wire.ErrOverloaded) && err != nil {
			t.Errorf("given up: %v", err)
		}
	})
}

// TestPacesAreForgotten: those that have their burst again take no memory.
func TestPacesAreForgotten(t *testing.T) {
	p := newCreates()
	now := time.Now()
	for i := range 1000 {
		p.take(partition.Peer(fmt.Sprint(i)), now.Add(time.Duration(i)*time.Minute))
	}
	if len(p.of) > 200 {
		t.Errorf("%d are kept", len(p.of))
	}
}
