package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// labelled returns a client with labels. It ends with the test.
func labelled(t *testing.T, g *gridtest.Grid, host string, labels map[string]string) *client.Client {
	t.Helper()
	cfg := calls.With(client.Config{Dial: g.Network.Host(host).Dial, Labels: labels,
		Security: g.Credentials(security.Admin)},
		calls.Parts{Clock: handles.NewExactClock()})
	for _, name := range g.Running() {
		cfg.Addrs = append(cfg.Addrs, name+":7948")
	}
	c, err := client.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestListingsAreOfTheWholeGrid: pages of the sequencers of all owners, and the holders of
// one with their labels, from any member, also after the owner has crashed.
func TestListingsAreOfTheWholeGrid(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		ctx := t.Context()
		web := labelled(t, g, "web", map[string]string{"service": "shop", "host": "web-1"})
		var names []string
		for i := range 25 {
			name := fmt.Sprintf("%s-%02d", []string{"a", "b"}[i%2], i)
			names = append(names, name)
			h, err := web.CreateSequencer(ctx, name, sequencer.Config{})
			if err == nil {
				_, err = h.Next(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(names)
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		page := func(member string, in wire.SequencersRequest) (out wire.SequencersResponse) {
			t.Helper()
			if err := ops.Call(ctx, member+":7948", wire.PathSequencers, in, &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		for _, member := range g.Running() {
			var got []string
			owners := map[string]bool{}
			for in := (wire.SequencersRequest{Limit: 4}); ; {
				p := page(member, in)
				if len(p.Sequencers) > 4 || len(p.Unreachable) > 0 {
					t.Fatalf("%d rows, %v unreachable", len(p.Sequencers), p.Unreachable)
				}
				for _, row := range p.Sequencers {
					got = append(got, row.Name)
					owners[string(row.Owner)] = true
					if row.Attached != 1 || row.Nodes != 8192 {
						t.Errorf("%+v", row)
					}
				}
				if in.After = p.Next; in.After == "" {
					break
				}
			}
			if !slices.Equal(got, names) || len(owners) != 3 {
				t.Errorf("%s lists %v of %d owners, want %v", member, got, len(owners), names)
			}
		}
		time.Sleep(20 * time.Second) // every handle is renewed, which tells how many IDs it made
		if p := page("m1", wire.SequencersRequest{Limit: 4, Busiest: true}); len(p.Sequencers) != 4 {
			t.Errorf("%d of the busiest sequencers, want 4", len(p.Sequencers))
		}
		var own []string // those of each owner, one by one
		for _, member := range g.Running() {
			for in := (wire.SequencersRequest{Limit: 1, Local: true}); ; {
				p := page(member, in)
				for _, row := range p.Sequencers {
					own = append(own, row.Name)
				}
				if in.After = p.Next; in.After == "" {
					break
				}
			}
		}
		if slices.Sort(own); !slices.Equal(own, names) {
			t.Errorf("the owners list %v one by one, want %v", own, names)
		}
		if p := page("m1", wire.SequencersRequest{Prefix: "b-", Limit: 100}); len(p.Sequencers) != 12 || p.Next != "" ||
			p.Sequencers[0].Name != "b-01" {
			t.Errorf("with a prefix: %+v", p)
		}
		var bad wire.SequencersResponse
		if err := ops.Call(ctx, "m1:7948", wire.PathSequencers, wire.SequencersRequest{Limit: wire.MaxPage + 1},
			&bad); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("a page above the limit: %v", err)
		}

		if _, err := labelled(t, g, "batch", nil).CreateSequencer(ctx, "a-00", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		checkHolders(t, g, ops)
		g.Crash(g.OwnerOf("a-00"))
		time.Sleep(20 * time.Second) // a window: every holder has renewed at the next owner
		checkHolders(t, g, ops)
	})
}

// checkHolders wants the two holders of a-00 from each member.
func checkHolders(t *testing.T, g *gridtest.Grid, ops *calls.Pool) {
	t.Helper()
	for _, member := range g.Running() {
		in := wire.HoldersRequest{Name: "a-00", Limit: 1}
		var rows []wire.HolderRow
		for more := true; more; {
			var p wire.HoldersResponse
			if err := ops.Call(t.Context(), member+":7948", wire.PathHolders, in, &p); err != nil {
				t.Fatal(err)
			}
			if p.Attached != 2 || len(p.Holders) != 1 || p.Nodes != 8192 || p.Sequencer != "a-00" {
				t.Fatalf("%s: %+v", member, p)
			}
			rows, more = append(rows, p.Holders...), p.More
			in.After = new(int(p.Holders[0].Node))
		}
		labels := 0
		for _, row := range rows {
			if reflect.DeepEqual(row.Labels, map[string]string{"service": "shop", "host": "web-1"}) {
				labels++
			}
			if row.Build == "" || row.Addr == "" || row.Holder == "" || row.Shown < 0 || row.Shown > 15_000 {
				t.Errorf("%s: %+v", member, row)
			}
		}
		if len(rows) != 2 || labels != 1 {
			t.Errorf("%s: %+v", member, rows)
		}
	}
	var none wire.HoldersResponse
	if err := ops.Call(context.WithoutCancel(t.Context()), g.Running()[0]+":7948", wire.PathHolders,
		wire.HoldersRequest{Name: "absent"}, &none); !errors.Is(err, sequencer.ErrNotFound) {
		t.Errorf("holders of an unknown sequencer: %v", err)
	}
}

// TestListsSayWhatTheyLack: while an owner is replaced, each status and each page of a member has every
// name, or states the partitions or members whose names are missing.
func TestListsSayWhatTheyLack(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5, Change: func(_ string, c *grid.Config) { c.Partitions = 31 }})
		var names []string
		c := g.Client("app")
		for i := range 60 {
			names = append(names, fmt.Sprintf("s-%02d", i))
			_, err := c.CreateSequencer(t.Context(), names[i], sequencer.Config{})
			ok(t, "create", err)
		}
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		const partitions = 31
		whole, lacking := 0, 0
		partition := func(name string) int { return int(roster.PartitionOf(name, partitions)) }
		check := func(where string, got []string, lacks bool, missing []int) {
			if !lacks && len(missing) == 0 {
				whole++
			} else {
				lacking++
			}
			for _, name := range names {
				if !slices.Contains(got, name) && !lacks && !slices.Contains(missing, partition(name)) {
					t.Errorf("%s lacks %s, and says that it lacks only partitions %v", where, name, missing)
				}
			}
		}
		lists := func() {
			t.Helper()
			member := g.Running()[0]
			s := statusOf(t, g, member)
			var got []string
			for _, q := range s.Sequencers {
				got = append(got, q.Name)
			}
			check("the status", got, len(s.Unreachable) > 0, s.Unlisted)
			var page wire.SequencersResponse
			in := wire.SequencersRequest{Limit: wire.MaxPage}
			ok(t, "page", ops.Call(t.Context(), member+":7948", wire.PathSequencers, in, &page))
			got = nil
			for _, row := range page.Sequencers {
				got = append(got, row.Name)
			}
			var unlisted []int
			for _, id := range page.Unlisted {
				unlisted = append(unlisted, int(id))
			}
			check("a page", got, len(page.Unreachable) > 0, unlisted)
		}
		for _, far := range []string{"m3", "m4"} { // they receive rosters late
			g.Network.SetRegion(far, "far")
		}
		g.Network.SetRegionDelay(100 * time.Millisecond)
		crashed := time.AfterFunc(time.Second, func() { g.Crash("m5") })
		defer crashed.Stop()
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			lists()
		}
		t.Logf("%d whole lists, %d that lack some", whole, lacking)
		if whole == 0 || lacking == 0 {
			t.Errorf("%d whole lists, %d that lack some; want both", whole, lacking)
		}
	})
}

// TestListsOfMemberWithoutGrid: a member that waits for others to form a grid has no list; it does not
// say that there are no sequencers.
func TestListsOfMemberWithoutGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 3})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- g.TryMember(ctx, "m1") }()
		synctest.Wait() // it serves its API, and waits for the others
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		for path, in := range map[string]any{
			wire.PathSequencers: wire.SequencersRequest{}, wire.PathUnused: wire.UnusedRequest{UnusedFor: 1000},
		} {
			var page wire.UnusedResponse
			err := ops.Call(t.Context(), "m1:7948", path, in, &page)
			if !errors.Is(err, sequencer.ErrUnavailable) {
				t.Errorf("%s: %+v, %v; want unavailable", path, page, err)
			}
		}
		cancel()
		<-ended
	})
}

// TestListsAfterLossOfEveryCopy: a grid without disks that has started again lists every name that its
// holders present later, or states that names of the partition are missing.
func TestListsAfterLossOfEveryCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const partitions = 7
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(_ string, c *grid.Config) {
			c.Partitions = partitions
		}})
		s, err := g.Client("app").CreateSequencer(t.Context(), "orders", sequencer.Config{})
		ok(t, "create", err)
		_, err = s.Next(t.Context())
		ok(t, "next", err)
		g.Crash("m1", "m2", "m3")
		g.StartMembers("m1", "m2", "m3")
		missed := 0
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			status := statusOf(t, g, "m1")
			switch id := int(roster.PartitionOf("orders", partitions)); {
			case slices.ContainsFunc(status.Sequencers, func(q grid.SequencerInfo) bool { return q.Name == "orders" }):
				t.Logf("missed in %d lists", missed)
				return
			case !slices.Contains(status.Unlisted, id):
				t.Errorf("%v after the start, the list lacks the name and says that it lacks only partitions %v",
					time.Since(began), status.Unlisted)
			}
			if missed++; time.Since(began) > time.Minute || t.Failed() {
				t.Fatal("the holder has not presented the name")
			}
		}
	})
}
