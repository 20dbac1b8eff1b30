package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// numbered is the configuration of a client on a host, with a number of set web.
func numbered(g *gridtest.Grid, host, dir string) client.Config {
	cfg := calls.With(client.Config{Dial: g.Network.Host(host).Dial, DataDir: dir, Set: "web",
		Security: g.Credentials(security.Admin)}, calls.Parts{Clock: handles.NewExactClock()})
	for _, name := range g.Running() {
		cfg.Addrs = append(cfg.Addrs, name+":7948")
	}
	return cfg
}

func dial(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// copyDir copies the files of a data directory.
func copyDir(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	ok(t, "copy", os.CopyFS(to, os.DirFS(from)))
	return to
}

// oneToN checks that numbers are 1 to n, each once.
func oneToN(t *testing.T, got []uint64) {
	t.Helper()
	slices.Sort(got)
	for i, n := range got {
		if n != uint64(i+1) {
			t.Fatalf("the numbers are %v", got)
		}
	}
}

// TestTenMembersStartTogether: they get the numbers 1 to 10.
func TestTenMembersStartTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 10, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Identity, c.Partitions = grid.Identity{Set: "ids"}, 16
		}})
		var all []uint64
		for _, name := range g.Running() {
			info := g.Member(name).Status().Identity
			if info == nil || info.State != "REGISTERED" || info.ID != g.Member(name).Number() || info.Incarnation == 0 ||
				info.Cluster != "snowgrid" {
				t.Errorf("%s: %+v, number %d", name, info, g.Member(name).Number())
			}
			all = append(all, g.Member(name).Number())
		}
		oneToN(t, all)
	})
}

// TestTenClientsStartTogether: the same for clients, without any message lost, and with the
// leader gone in the middle.
func TestTenClientsStartTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		var all sync.WaitGroup
		got := make([]uint64, 10)
		dirs := make([]string, 10)
		clients := make([]*client.Client, 10)
		start := func(crash bool) {
			for i := range got {
				if dirs[i] == "" {
					dirs[i] = t.TempDir()
				}
				cfg := numbered(g, fmt.Sprint("c", i), dirs[i])
				all.Go(func() {
					clients[i] = dial(t, cfg)
					got[i] = clients[i].Number()
				})
			}
			if crash {
				time.Sleep(50 * time.Millisecond)
				g.Crash(g.Leader())
			}
			all.Wait()
		}
		start(true)
		first := slices.Clone(got)
		oneToN(t, slices.Clone(got))
		for _, c := range clients {
			_ = c.Close()
		}
		start(false)
		if !slices.Equal(got, first) {
			t.Errorf("numbers after a restart %v, before %v", got, first)
		}
	})
}

// nodeOf returns the logical node of a new ID, and how long it took.
func nodeOf(t *testing.T, s *sequencer.Sequencer) (sequencer.NodeID, sequencer.ID, time.Duration) {
	t.Helper()
	began := time.Now()
	id, err := s.Next(t.Context())
	ok(t, "next", err)
	return s.Definition().Decompose(id).Node, id, time.Since(began)
}

// TestRestartedClientGetsItsNodesBack: after an orderly end without a wait, and after a crash
// when the grants of the crashed process have ended; others take no node of it meanwhile.
func TestRestartedClientGetsItsNodesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ crash, open bool }{{false, false}, {true, false}, {false, true}} {
		crash := c.crash
		t.Run(fmt.Sprintf("crash %v, open %v", crash, c.open), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gridtest.Start(t, gridtest.Config{Members: 2})
				dir := t.TempDir()
				other, err := g.Client("other").CreateSequencer(t.Context(), "orders", sequencer.Config{})
				ok(t, "create", err)
				web := dial(t, numbered(g, "web", dir))
				orders, err := web.CreateSequencer(t.Context(), "orders", sequencer.Config{})
				ok(t, "create", err)
				stripes, err := web.CreateStriped(t.Context(), "clicks", sequencer.Config{}, 4)
				ok(t, "stripes", err)
				_ = stripes
				was, last, _ := nodeOf(t, orders)
				time.Sleep(3 * time.Second)
				if crash {
					g.Network.Crash("web")
					ok(t, "close", web.Close())
				} else {
					ok(t, "leave", web.Leave(t.Context()))
				}
				if n, _, _ := nodeOf(t, other); n == was {
					t.Fatalf("both have node %d", n)
				}
				web = dial(t, numbered(g, "web2", dir))
				if c.open {
					orders, err = web.OpenSequencer(t.Context(), "orders")
					ok(t, "open", err)
					err = orders.AttachLogicalNode(t.Context())
				} else {
					orders, err = web.CreateSequencer(t.Context(), "orders", sequencer.Config{})
				}
				ok(t, "create or open again", err)
				now, first, took := nodeOf(t, orders)
				if now != was || first <= last {
					t.Errorf("node %d and ID %d, before the restart %d and %d", now, first, was, last)
				}
				limit := 15*time.Second + time.Second
				if !crash {
					limit = time.Second
				}
				if took > limit || crash && took < 2*time.Second {
					t.Errorf("the first ID came after %v", took)
				}
			})
		})
	}
}

// TestRestartedMemberGetsItsNodesBack: also when it owned the sequencer's partition.
func TestRestartedMemberGetsItsNodesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Identity = grid.Identity{Set: "ids"}
		}})
		name := g.OwnerOf("orders")
		for _, member := range g.Running() { // so that its node is not the first one of all
			if member != name {
				_, err := g.Member(member).CreateSequencer(t.Context(), "orders", sequencer.Config{})
				ok(t, "create", err)
			}
		}
		orders, err := g.Member(name).CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create", err)
		was, last, _ := nodeOf(t, orders)
		number := g.Member(name).Number()
		g.Crash(name)
		g.StartMembers(name)
		orders, err = g.Member(name).CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create again", err)
		now, first, took := nodeOf(t, orders)
		if now != was || first <= last || took > 16*time.Second || g.Member(name).Number() != number {
			t.Errorf("member %d: node %d, ID %d after %v; before the crash member %d: node %d, ID %d", g.Member(name).Number(),
				now, first, took, number, was, last)
		}
	})
}

// TestCopiedDirectoryIsFenced: a process with a copy takes the number over, and the handles
// of the earlier one end with that cause; the copy continues.
func TestCopiedDirectoryIsFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 2})
		ids := newChecker(t)
		first := dial(t, numbered(g, "one", t.TempDir()))
		dir := t.TempDir()
		c := dial(t, numbered(g, "two", dir))
		orders, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create", err)
		ids.caller("original").must(orders, 3)
		copied := copyDir(t, dir)
		later := dial(t, numbered(g, "three", copied))
		if first.Number() != 1 || c.Number() != 2 || later.Number() != 2 {
			t.Fatalf("numbers %d, %d and %d", first.Number(), c.Number(), later.Number())
		}
		again, err := later.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create on the copy", err)
		time.Sleep(5 * time.Second)
		_, err = orders.Next(t.Context())
		want(t, "next of the earlier process", err, sequencer.ErrFenced)
		if !strings.Contains(err.Error(), "copied") && !strings.Contains(err.Error(), "directory of its own") {
			t.Errorf("the error names no remedy: %v", err)
		}
		_, err = c.CreateSequencer(t.Context(), "bills", sequencer.Config{})
		want(t, "create of the earlier process", err, sequencer.ErrFenced)
		_, err = c.OpenSequencer(t.Context(), "orders")
		want(t, "open of the earlier process", err, sequencer.ErrFenced)
		ids.caller("copy").must(again, 3)
		time.Sleep(20 * time.Second) // more than a window
		ids.caller("copy").must(again, 3)
	})
}

// TestOwnersRefuseReplacedProcesses: an owner looks at the identity in each attach and renewal,
// before the partition sees it.
func TestOwnersRefuseReplacedProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1})
		dir := t.TempDir()
		ok(t, "close", dial(t, numbered(g, "web", dir)).Close())
		c := dial(t, numbered(g, "web", dir))
		orders, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create", err)
		h := calls.NewPool(g.Network.Host("other").Dial, g.Load(security.Admin))
		defer h.Close()
		def := orders.Definition()
		var found wire.SequencerResponse
		ok(t, "open", h.Call(t.Context(), "m1:7948", wire.PathOpen, wire.OpenRequest{Name: def.Name()}, &found))
		for _, test := range []struct {
			id, incarnation uint64
			want            error
		}{
			{1, 2, nil}, {1, 3, nil}, {1, 1, numbers.ErrFenced}, {2, 1, sequencer.ErrUnavailable}, {0, 1, wire.ErrBadRequest},
			{1, 0, wire.ErrBadRequest},
		} {
			id := &wire.Identity{Cluster: "snowgrid", Set: "web", ID: test.id, Incarnation: test.incarnation}
			err := h.Call(t.Context(), "m1:7948", wire.PathRenew, wire.RenewRequest{Holder: "h", Identity: id},
				&wire.RenewResponse{})
			want(t, fmt.Sprintf("renewal of %+v", test), err, test.want)
			claim := wire.Claim{Sequencer: found.Sequencer, ID: attachment.ID{byte(test.id), byte(test.incarnation)},
				Grid: found.Grid, Version: found.Version}
			err = h.Call(t.Context(), "m1:7948", wire.PathAttach, wire.AttachRequest{Holder: "h", Claim: claim, Identity: id},
				&wire.AttachResponse{})
			want(t, fmt.Sprintf("attach of %+v", test), err, test.want)
		}
		long := &wire.Identity{Cluster: strings.Repeat("x", 100_000), Set: "web", ID: 1, Incarnation: 1}
		err = h.Call(t.Context(), "m1:7948", wire.PathRenew, wire.RenewRequest{Holder: "h", Identity: long},
			&wire.RenewResponse{})
		want(t, "a cluster of 100,000 bytes", err, wire.ErrBadRequest)
		if len(err.Error()) > 1000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	})
}

// TestDirectoryOfAnotherSet: the client does not start, and the files stay as they are.
func TestDirectoryOfAnotherSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1})
		dir := t.TempDir()
		c := dial(t, numbered(g, "web", dir))
		_, err := client.Dial(t.Context(), numbered(g, "web", dir))
		want(t, "a second process with the directory", err, sequencer.ErrInvalidConfig)
		ok(t, "close", c.Close())
		path := filepath.Join(dir, ".member.meta")
		before, err := os.ReadFile(path)
		ok(t, "read", err)
		for _, change := range []func(*client.Config){
			func(c *client.Config) { c.Set = "api" },
			func(c *client.Config) { c.Cluster = "other" },
		} {
			cfg := numbered(g, "web", dir)
			change(&cfg)
			_, err := client.Dial(t.Context(), cfg)
			want(t, "another set", err, sequencer.ErrInvalidConfig)
			if !strings.Contains(err.Error(), `set "web" of cluster "snowgrid"`) {
				t.Errorf("the error does not name the set of the directory: %v", err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("the file has changed: %q, %v", after, err)
		}
		if again := dial(t, numbered(g, "web", dir)); again.Number() != 1 {
			t.Errorf("number %d", again.Number())
		}
	})
}

// TestUnreachableLeaderLosesNoNumber: a client that gives up while it applies, again and
// again, has the first number at the end.
func TestUnreachableLeaderLosesNoNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 2})
		dir := t.TempDir()
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			cfg := numbered(g, "web", dir)
			g.Network.SetDelay(time.Millisecond)
			c, err := client.Dial(ctx, cfg)
			cancel()
			switch {
			case err == nil:
				_ = c.Close()
			case !errors.Is(err, context.DeadlineExceeded):
				t.Fatal(err)
			}
		}
		if n := dial(t, numbered(g, "web", dir)).Number(); n != 1 {
			t.Errorf("number %d", n)
		}
		if n := dial(t, numbered(g, "next", t.TempDir())).Number(); n != 2 {
			t.Errorf("the next process has number %d", n)
		}
	})
}
