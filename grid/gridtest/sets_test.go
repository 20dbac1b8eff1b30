package gridtest_test

import (
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// setCaller makes calls of the set c/web from a host of its own.
type setCaller struct {
	t *testing.T
	g *gridtest.Grid
	h *calls.Pool
}

func newSetCaller(t *testing.T, g *gridtest.Grid, host string) *setCaller {
	h := calls.NewPool(g.Network.Host(host).Dial, g.Load(security.Admin))
	t.Cleanup(h.Close)
	return &setCaller{t, g, h}
}

// at makes one call at one member.
func (c *setCaller) at(member, path string, in, out any) error {
	return c.h.Call(within(c.t, 2*time.Second), member+":7948", path, in, out)
}

// until makes a call at one member after the other until there is an answer or a refusal.
func (c *setCaller) until(path string, in, out any) error {
	c.t.Helper()
	var err error
	for i := range 120 {
		running := c.g.Running()
		if err = c.at(running[i%len(running)], path, in, out); !errors.Is(err, sequencer.ErrUnavailable) {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
	c.t.Fatalf("%s: %v", path, err)
	return nil
}

func (c *setCaller) apply(id uint64, code byte) error {
	return c.until(wire.PathIdentityApply, wire.IdentityApplyRequest{Cluster: "c", Name: "web", ID: id,
		Code: numbers.Code{code}}, new(wire.IdentityApplyResponse))
}

// register returns the incarnation of a start.
func (c *setCaller) register(id uint64, code, start byte, incarnation uint64) (uint64, error) {
	var out wire.IdentityRegisterResponse
	err := c.until(wire.PathIdentityRegister, wire.IdentityRegisterRequest{
		Cluster: "c", Name: "web", ID: id, Code: numbers.Code{code}, Start: numbers.Code{start}, Incarnation: incarnation,
	}, &out)
	return out.Incarnation, err
}

func (c *setCaller) clean(force bool, ids ...uint64) ([]uint64, error) {
	var out wire.IdentityCleanResponse
	err := c.until(wire.PathIdentityClean, wire.IdentityCleanRequest{Cluster: "c", Name: "web", IDs: ids,
		Force: force}, &out)
	return out.Removed, err
}

// list returns the set.
func (c *setCaller) list() wire.IdentitySet {
	c.t.Helper()
	var out wire.IdentityListResponse
	ok(c.t, "list", c.until(wire.PathIdentity, wire.IdentityListRequest{Cluster: "c", Name: "web"}, &out))
	return out.Sets[0]
}

// take gets a number as a process does that keeps its application until it is refused.
func (c *setCaller) take(code byte) (uint64, error) {
	for {
		var next wire.IdentityNextResponse
		if err := c.until(wire.PathIdentityNext, wire.IdentityNextRequest{Cluster: "c", Name: "web"}, &next); err != nil {
			return 0, err
		}
		if err := c.apply(next.Next, code); !errors.Is(err, numbers.ErrIDRefused) {
			return next.Next, err
		}
	}
}

// TestNumbersWhileLeadersChange: requests and answers are lost, the leader crashes again and
// again, and members restart from their logs. Every process has a number of its own, none
// is left out, and each is known with its code afterwards.
func TestNumbersWhileLeadersChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true,
			Change: func(_ string, c *grid.Config) { c.Partitions = 4 }})
		const processes = 8
		given := make([]uint64, processes)
		var wg sync.WaitGroup
		for p := range processes {
			caller := newSetCaller(t, g, fmt.Sprintf("p%d", p))
			wg.Go(func() {
				time.Sleep(time.Duration(p) * 700 * time.Millisecond)
				n, err := caller.take(byte(p + 1))
				if err != nil {
					t.Errorf("process %d: %v", p, err)
				}
				given[p] = n
			})
		}
		for round := range 3 {
			leader := g.Leader()
			for p := range processes { // answers of the leader are lost from now on
				g.Network.CutOneWay(leader, fmt.Sprintf("p%d", p))
			}
			time.Sleep(time.Duration(300+400*round) * time.Millisecond)
			g.Crash(leader)
			time.Sleep(3 * time.Second)
			g.Network.HealAll()
			g.StartMembers(leader)
		}
		wg.Wait()
		all := slices.Clone(given)
		oneToN(t, all)
		c := newSetCaller(t, g, "operator")
		s := c.list()
		if s.Next != processes+1 || len(s.Members) != processes {
			t.Fatalf("the set is %+v", s)
		}
		for p, n := range given {
			ok(t, "the same application again", c.apply(n, byte(p+1)))
			if err := c.apply(n, 99); !errors.Is(err, numbers.ErrIDRefused) {
				t.Errorf("number %d for another process: %v", n, err)
			}
		}
	})
}

// TestWhoIsCleaned: a process that shows itself keeps its number, and so does every one after
// an election, until the new leader would have heard of it.
func TestWhoIsCleaned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := &auditLog{}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Logger: slog.New(slog.NewJSONHandler(lines, nil)),
			Change: func(name string, c *grid.Config) {
				c.Partitions = 4
				if name == "m3" {
					c.Identity = grid.Identity{Cluster: "c", Set: "web"}
				}
			}})
		c := newSetCaller(t, g, "operator")
		member := g.Member("m3").Number()
		var given []uint64
		for p := range 2 {
			n, err := c.take(byte(p + 1))
			ok(t, "take", err)
			_, err = c.register(n, byte(p+1), byte(p+1), 0)
			ok(t, "register", err)
			given = append(given, n)
		}
		shown := make(chan struct{})
		alive := newSetCaller(t, g, "alive")
		go func() { // the first one shows itself
			for {
				select {
				case <-shown:
					return
				case <-time.After(5 * time.Second):
					_, _ = alive.register(given[0], 1, 1, 1)
				}
			}
		}()
		defer close(shown)
		refused := func(why string, id uint64, text string) {
			t.Helper()
			if removed, err := c.clean(false, id); !errors.Is(err, numbers.ErrAlive) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, %v", why, removed, err)
			}
		}
		time.Sleep(time.Second)
		refused("it registered a moment ago", given[1], "is alive")
		time.Sleep(20 * time.Second)
		refused("it shows itself", given[0], "is alive")
		refused("a member", member, "is alive")
		g.Crash(g.Leader())
		time.Sleep(8 * time.Second)
		refused("a new leader", given[1], "elected a moment ago")
		time.Sleep(20 * time.Second)
		refused("it shows itself to the new leader", given[0], "is alive")
		removed, err := c.clean(false, given[1])
		ok(t, "clean", err)
		if !slices.Equal(removed, []uint64{given[1]}) {
			t.Errorf("removed %v", removed)
		}
		if _, err := c.register(given[1], 2, 3, 0); !errors.Is(err, numbers.ErrNotRegistered) {
			t.Errorf("a removed process: %v", err)
		}
		if _, err := c.clean(true, given[0], member); err != nil {
			t.Errorf("by force: %v", err)
		}
		if s := c.list(); len(s.Members) != 0 || s.Next != 4 {
			t.Errorf("the set is %+v", s)
		}
		audited := lines.of(t, "identity-clean")
		if n := len(audited); n < 3 || audited[n-1].Result != "ok" || audited[n-1].Name != "c/web" ||
			audited[0].Result != "denied" {
			t.Errorf("audit lines: %+v", audited)
		}
	})
}

// TestReplacedProcessGetsNoGrant: every member refuses an attach and a renewal of an
// earlier incarnation, and of a number that was removed.
func TestReplacedProcessGetsNoGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) { c.Partitions = 4 }})
		c := newSetCaller(t, g, "operator")
		n, err := c.take(1)
		ok(t, "take", err)
		first, err := c.register(n, 1, 1, 0)
		ok(t, "register", err)
		time.Sleep(10 * time.Second) // the grid knows that it has no holders of before
		var made wire.SequencerResponse
		ok(t, "create", c.at(g.OwnerOf("orders"), wire.PathCreate, wire.CreateRequest{Name: "orders"}, &made))
		attach := func(member string, id byte, incarnation uint64) error {
			return c.at(member, wire.PathAttach, wire.AttachRequest{
				Holder:   "h",
				Claim:    wire.Claim{Sequencer: made.Sequencer, ID: attachment.ID{id}},
				Identity: &wire.Identity{Cluster: "c", Set: "web", ID: n, Incarnation: incarnation},
			}, new(wire.AttachResponse))
		}
		renew := func(member string, incarnation uint64) error {
			return c.at(member, wire.PathRenew, wire.RenewRequest{
				Holder: "h", Identity: &wire.Identity{Cluster: "c", Set: "web", ID: n, Incarnation: incarnation},
			}, new(wire.RenewResponse))
		}
		time.Sleep(2 * time.Second) // every member has heard of it
		owner := g.OwnerOf("orders")
		ok(t, "attach", attach(owner, 1, first))
		ok(t, "renew", renew(owner, first))
		second, err := c.register(n, 1, 2, 0) // a copy of its directory
		ok(t, "register the copy", err)
		time.Sleep(2 * time.Second)
		for _, member := range g.Running() {
			if err := attach(member, 2, first); !errors.Is(err, numbers.ErrFenced) {
				t.Errorf("%s: attach of the replaced process: %v", member, err)
			}
			if err := renew(member, first); !errors.Is(err, numbers.ErrFenced) {
				t.Errorf("%s: renewal of the replaced process: %v", member, err)
			}
		}
		ok(t, "attach of the copy", attach(owner, 3, second))
		if _, err := c.register(n, 1, 1, first); !errors.Is(err, numbers.ErrFenced) {
			t.Errorf("a sign of life of the replaced process: %v", err)
		}
		_, err = c.clean(true, n)
		ok(t, "clean", err)
		time.Sleep(2 * time.Second)
		if err := renew(owner, second); !errors.Is(err, numbers.ErrNotRegistered) {
			t.Errorf("renewal under a removed number: %v", err)
		}
		if err := renew(owner, 0); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("renewal without an incarnation: %v", err)
		}
	})
}

// TestSetsAfterARecovery: survivors of a memory-only grid keep the numbers.
func TestSetsAfterARecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5, Change: func(_ string, c *grid.Config) { c.Partitions = 4 }})
		c := newSetCaller(t, g, "operator")
		for p := range 3 {
			n, err := c.take(byte(p + 1))
			ok(t, "take", err)
			_, err = c.register(n, byte(p+1), byte(p+1), 0)
			ok(t, "register", err)
		}
		before := c.list()
		time.Sleep(2 * time.Second)
		loseMajority(t, g, 2)
		_, err := initAt(t, g, g.Running()[0], time.Time{})
		ok(t, "init", err)
		time.Sleep(30 * time.Second)
		after := c.list()
		if after.Next != before.Next || len(after.Members) != 3 ||
			after.Members[2].Incarnation != before.Members[2].Incarnation {
			t.Errorf("the set was %+v and is %+v", before, after)
		}
		inc, err := c.register(1, 1, 9, 0)
		if err != nil || inc != 2 {
			t.Errorf("the next start: %d, %v", inc, err)
		}
	})
}
