package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// usedOf returns how much of a quota a member says is used, -1 for unknown.
func usedOf(t *testing.T, g *gridtest.Grid, member, pattern string) int {
	t.Helper()
	for _, q := range setSettings(t, g, member, `{}`).Quotas {
		if string(q.Pattern) == pattern && q.Used != nil {
			return *q.Used
		}
	}
	return -1
}

// setQuotas changes quotas at a member, and waits until all members know them.
func setQuotas(t *testing.T, g *gridtest.Grid, member, edits string) {
	t.Helper()
	time.Sleep(30 * time.Second) // the partitions serve
	after := setSettings(t, g, member, edits)
	eventually(t, 10*time.Second, "the quotas at all members", func() bool {
		return !slices.ContainsFunc(g.Running(),
			func(name string) bool { return g.Member(name).Status().Version < uint64(after.Version) })
	})
}

// refusalsAt sums the refusals of a kind over all members.
func refusalsAt(g *gridtest.Grid, kind string) (n uint64) {
	for _, name := range g.Running() {
		n += g.Member(name).Stats().Refused[kind]
	}
	return n
}

// TestQuotaOfNames: the sequencers of a pattern are counted over all owners. A sequencer that exists
// already stays and can be opened, also after an owner has crashed.
func TestQuotaOfNames(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		c := g.Client("client")
		setQuotas(t, g, "m2", `{"quotas":[{"pattern":"a*","names":12},{"pattern":"*","names":2},{"pattern":"free*"}]}`)
		if s := g.Member("m1").Status(); len(s.Quotas) != 3 {
			t.Fatalf("quotas %+v", s.Quotas)
		}
		var made []string
		for i := range 20 {
			name := fmt.Sprintf("a%02d", i)
			_, err := c.CreateSequencer(within(t, 5*time.Second), name, sequencer.Config{Nodes: 128})
			time.Sleep(1100 * time.Millisecond) // the owners count again
			switch {
			case err == nil:
				made = append(made, name)
			case !errors.Is(err, sequencer.ErrQuota) || !strings.Contains(err.Error(),
				`there are 12 sequencers of "a*", and its quota allows 12`) || errors.Is(err, context.DeadlineExceeded):
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(made) != 12 || refusalsAt(g, "names") != 8 {
			t.Errorf("%d sequencers were created, and %d refused", len(made), refusalsAt(g, "names"))
		}
		for i := range 5 { // no limit by the row that counts
			create(t, c, fmt.Sprintf("free%d", i), 128)
		}
		for i, want := range []error{nil, nil, sequencer.ErrQuota} { // of "*", those that no other row counts
			_, err := c.CreateSequencer(within(t, 5*time.Second), fmt.Sprintf("x%d", i), sequencer.Config{Nodes: 128})
			time.Sleep(1100 * time.Millisecond)
			if !errors.Is(err, want) {
				t.Errorf("x%d: %v, want %v", i, err, want)
			}
		}
		create(t, g.Client("another"), made[3], 128)
		if used := usedOf(t, g, "m3", "a*"); used != 12 {
			t.Errorf("%d are said to be used", used)
		}

		g.Crash(g.OwnerOf(made[0]))
		time.Sleep(30 * time.Second)
		other := g.Running()[0]
		if used := usedOf(t, g, other, "a*"); used != 12 {
			t.Errorf("after a crash %d are said to be used", used)
		}
		if _, err := c.CreateSequencer(within(t, 20*time.Second), "a99", sequencer.Config{Nodes: 128}); !errors.Is(err,
			sequencer.ErrQuota) {
			t.Errorf("after a crash: %v", err)
		}
		ok(t, "destroy", c.DestroySequencer(within(t, 20*time.Second), made[5]))
		time.Sleep(1100 * time.Millisecond)
		create(t, c, "a99", 128)

		setQuotas(t, g, other, `{"drop_quotas":["a*","*","free*"]}`)
		create(t, c, "a100", 128)
	})
}

// TestQuotaOfNamesWithoutAnAnswer: an owner that never heard of the others' counts refuses
// for now, and one that did uses the last ones.
func TestQuotaOfNamesWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: func(_ string, c *grid.Config) {
			c.Partitions = 101 // so that each owner has partitions with each backup
		}})
		setQuotas(t, g, "m1", `{"quotas":[{"pattern":"*","names":100}]}`)
		lead := g.Leader()
		others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == lead })
		asks, mute := others[0], others[1]
		c := g.Client("client")
		names := map[string]string{} // one of each owner, and of the one that asks one whose backup is the leader
		leader := g.Member(lead).Status().Answering
		for i := range 10_000 {
			name := fmt.Sprint("s", i)
			owner, parts := g.OwnerOf(name), g.Member(lead).Status().Partitions
			if owner != asks || slices.Contains(parts[roster.PartitionOf(name, len(parts))].InSync, leader) {
				names[owner] = name
			}
			if len(names) == 3 {
				break
			}
		}
		if len(names) < 3 {
			t.Fatalf("names of each owner, with the leader as a backup of one of %s: %v", asks, names)
		}
		create(t, c, names[lead], 128)
		// It has not asked yet. It is cut off from a member that the leader reaches.
		g.Network.Cut(asks, mute)
		if _, err := c.CreateSequencer(within(t, 1500*time.Millisecond), names[asks],
			sequencer.Config{Nodes: 128}); !errors.Is(err, sequencer.ErrUnavailable) ||
			!strings.Contains(err.Error(), "another owner's count is still missing") {
			t.Errorf("an owner that does not know every count: %v", err)
		}
		g.Network.Cut(lead, mute)
		if _, err := c.OpenSequencer(within(t, 900*time.Millisecond), names[lead]); err != nil {
			t.Errorf("a sequencer that exists: %v", err)
		}
		g.Network.HealAll()
		create(t, c, names[asks], 128)
		create(t, c, names[mute], 128)
	})
}

// TestQuotaOfNodes: a process, and all processes of an address together, get as many logical
// nodes of a sequencer as quotas allow. What they have stays when a limit is lowered. Addresses
// are the peers of a grid in clear text.
func TestQuotaOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, InClear: true})
		setQuotas(t, g, "m2", `{"quotas":[{"pattern":"orders","holder_nodes":3,"peer_nodes":5}]}`)
		stripe := func(c *client.Client, stripes int) (*sequencer.Striped, error) {
			return c.CreateStriped(within(t, 5*time.Second), "orders", sequencer.Config{}, stripes)
		}
		first, second := g.Client("web"), g.Client("web")
		held, err := stripe(first, 3)
		ok(t, "three nodes", err)
		if _, err := stripe(first, 1); !errors.Is(err, sequencer.ErrQuota) || errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), `this process has 3 of its logical nodes, and the quota of "orders" allows 3`) {
			t.Errorf("a fourth: %v", err)
		}
		_, err = stripe(second, 2)
		ok(t, "two nodes of the second process", err)
		third := g.Client("web")
		if _, err := stripe(third, 1); !errors.Is(err, sequencer.ErrQuota) ||
			!strings.Contains(err.Error(), "have 5 of its logical nodes") {
			t.Errorf("the sixth of the address: %v", err)
		}
		if a, b := refusalsAt(g, "holder-nodes"), refusalsAt(g, "peer-nodes"); a != 1 || b != 1 {
			t.Errorf("%d and %d refusals are counted", a, b)
		}
		_, err = stripe(g.Client("elsewhere"), 3)
		ok(t, "another address", err)
		if _, err := third.CreateStriped(within(t, 5*time.Second), "others", sequencer.Config{}, 10); err != nil {
			t.Errorf("another sequencer: %v", err)
		}

		// The owner crashes; the holders register what they have, also beyond a lowered limit.
		setQuotas(t, g, "m2", `{"quotas":[{"pattern":"orders","holder_nodes":2,"peer_nodes":2}]}`)
		g.Crash(g.OwnerOf("orders"))
		time.Sleep(40 * time.Second)
		for range 100 {
			if _, err := held.Next(within(t, 5*time.Second)); err != nil {
				t.Fatalf("a handle of before: %v", err)
			}
		}
		if _, err := stripe(third, 1); !errors.Is(err, sequencer.ErrQuota) ||
			!strings.Contains(err.Error(), "have 5 of its logical nodes") {
			t.Errorf("at the new owner, a window later: %v", err)
		}
		ok(t, "leave", held.Leave(within(t, 5*time.Second)))
		if _, err := stripe(third, 1); !errors.Is(err, sequencer.ErrQuota) {
			t.Errorf("with two left: %v", err)
		}
	})
}

// TestQuotaOfCalls: a caller that makes too many calls is told when to come again, and a
// client does so within its time. Renewals cost nothing.
func TestQuotaOfCalls(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		c := g.Client("web")
		orders := create(t, c, "orders", 128)
		setQuotas(t, g, "m2", `{"quotas":[{"pattern":"orders","calls":2}]}`)
		owner := g.OwnerOf("orders")
		var codes []int
		for range 4 {
			code, _ := request(t, g, "script", http.MethodPost, owner+":7948", wire.PathOpen, `{"name":"orders"}`)
			codes = append(codes, code)
		}
		if want := []int{200, 200, 429, 429}; !slices.Equal(codes, want) {
			t.Errorf("answered %v, want %v", codes, want)
		}
		began := time.Now()
		for range 10 {
			other := g.Client("busy")
			if _, err := other.OpenSequencer(within(t, 30*time.Second), "orders"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took < 3500*time.Millisecond || took > 10*time.Second {
			t.Errorf("10 calls at 2 per second took %v", took)
		}
		if n := refusalsAt(g, "calls"); n < 2 {
			t.Errorf("%d refusals are counted", n)
		}
		for range 60 {
			time.Sleep(time.Second)
			if _, err := orders.Next(within(t, time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestUnusedAreRemoved: in bulk, by any member, a page at a time. A sequencer that is attached, or was
// used within the time, stays.
func TestUnusedAreRemoved(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true})
		c := g.Client("client")
		for i := range 30 {
			name := fmt.Sprintf("old%02d", i)
			create(t, c, name, 128)
			ok(t, "forget", c.Forget(within(t, time.Minute), name)) // it gives the node back
		}
		used := create(t, c, "old-used", 128)
		time.Sleep(10 * time.Minute)
		create(t, c, "old-new", 128)
		ok(t, "forget", c.Forget(within(t, time.Minute), "old-new"))
		ask := func(member, more string) (out []wire.UnusedRow) {
			t.Helper()
			for after, pages := "", 0; pages == 0 || after != ""; pages++ {
				p := answerAt[wire.UnusedResponse](t, g, member, http.MethodPost, wire.PathUnused,
					fmt.Sprintf(`{"prefix":"old","unused_for_ms":60000,"limit":7,"after":%q%s}`, after, more))
				if len(p.Unreachable) > 0 || len(p.Sequencers) > 7 {
					t.Fatalf("%+v", p)
				}
				out, after = append(out, p.Sequencers...), p.Next
			}
			return out
		}
		dry := ask("m1", "")
		if len(dry) != 30 || dry[0].Name != "old00" || dry[0].Removed || dry[0].UnusedFor < (10*time.Minute).Milliseconds() ||
			dry[0].UnusedFor > (11*time.Minute).Milliseconds() {
			t.Fatalf("%d unused: %+v", len(dry), dry[:min(3, len(dry))])
		}
		attached := create(t, c, "old07", 128) // since the list was made
		_ = attached
		removed := ask("m2", `,"remove":true`)
		if len(removed) != 29 || slices.ContainsFunc(removed, func(r wire.UnusedRow) bool {
			return !r.Removed ||
				r.Error != "" || r.Name == "old07"
		}) {
			t.Errorf("%d removed: %+v", len(removed), removed)
		}
		if rest := ask("m3", ""); len(rest) != 0 {
			t.Errorf("left: %+v", rest)
		}
		for _, name := range []string{"old-used", "old-new", "old07"} {
			if _, err := g.Client("x").OpenSequencer(within(t, time.Minute), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := used.Next(within(t, time.Second)); err != nil {
			t.Error(err)
		}
		create(t, c, "old03", 128) // again
		// An owner that was told to remove one that is used meanwhile does not.
		passing := calls.NewPool(g.Network.Host("m1").Dial, g.Load(security.Member))
		defer passing.Close()
		in := wire.UnusedRequest{UnusedFor: 1000, Remove: true, Names: []string{"old-used"},
			Relay: wire.Relay{Forwarded: true}}
		var p wire.UnusedResponse
		ok(t, "pass on", passing.Call(t.Context(), g.OwnerOf("old-used")+":7948", wire.PathUnused, in, &p))
		if len(p.Sequencers) != 1 || p.Sequencers[0].Removed || !strings.Contains(p.Sequencers[0].Error, "it is in use") {
			t.Errorf("%+v", p)
		}
		for body, want := range map[string]string{`{}`: "unused_for_ms is 0; give 1000 to",
			`{"unused_for_ms":5000,"limit":501}`:   "limit 501",
			`{"unused_for_ms":5000,"names":["a"]}`: "only members state those"} {
			if code, text := request(t, g, "m1", http.MethodPost, "localhost:7948", wire.PathUnused,
				body); code != http.StatusBadRequest || !strings.Contains(text, want) {
				t.Errorf("%s: %d %s, want %q", body, code, text, want)
			}
		}
	})
}

// TestPagesOfManySequencers: the pages of 2,500 sequencers of three owners have each of them
// once, in order, whatever their size.
func TestPagesOfManySequencers(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second) // the partitions serve
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		var want []string
		for i := range long.Or(1200, 2500) {
			name := fmt.Sprintf("%s/%04d", []string{"shop", "till"}[i%2], i)
			if i%2 == 0 {
				want = append(want, name)
			}
			ok(t, "create", ops.Call(t.Context(), g.OwnerOf(name)+":7948", wire.PathCreate,
				wire.CreateRequest{Name: name, Nodes: 128}, new(wire.SequencerResponse)))
		}
		for _, limit := range []int{wire.MaxPage, 333} {
			var got []string
			owners, pages := map[string]bool{}, 0
			for in := (wire.SequencersRequest{Prefix: "shop/", Limit: limit}); pages == 0 || in.After != ""; pages++ {
				var p wire.SequencersResponse
				ok(t, "page", ops.Call(t.Context(), "m2:7948", wire.PathSequencers, in, &p))
				for _, row := range p.Sequencers {
					got = append(got, row.Name)
					owners[string(row.Owner)] = true
				}
				in.After = p.Next
			}
			if !slices.Equal(got, want) || len(owners) != 3 || pages != (len(want)+limit-1)/limit {
				t.Errorf("%d sequencers of %d owners on %d pages of %d, want %d", len(got), len(owners), pages, limit, len(want))
			}
		}
	})
}

// TestQuotasWithSecurity: without any row a certificate gets half of a sequencer's logical
// nodes, in how many processes it may be. Members' own handles have no such limit.
func TestQuotasWithSecurity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		time.Sleep(30 * time.Second)
		stripe := func(c interface {
			CreateStriped(context.Context, string, sequencer.Config, int) (*sequencer.Striped, error)
		}, stripes int) error {
			_, err := c.CreateStriped(within(t, 20*time.Second), "orders", sequencer.Config{Nodes: 1024}, stripes)
			return err
		}
		web := g.Client("web")
		for range 8 {
			ok(t, "64 nodes", stripe(web, 64))
		}
		for _, c := range []*client.Client{web, g.Client("web")} { // the same certificate
			if err := stripe(c, 1); !errors.Is(err, sequencer.ErrQuota) ||
				!strings.Contains(err.Error(), "have 512 of its logical nodes, and the default allows 512") {
				t.Errorf("one more: %v", err)
			}
		}
		ok(t, "a member", stripe(g.Member("m1"), 64))
	})
}
