package gridtest_test

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Most scenarios do with few partitions. To see one with as many as a grid has
// unless it says otherwise:
//
//	go test ./grid/gridtest -run TestRolling -partitions 271
var somePartitions = flag.Int("partitions", 31, "how many partitions the grids of most scenarios have")

// holder is one attached handle that takes IDs, with the state that it must keep.
type holder struct {
	host string
	s    *sequencer.Sequencer
	node sequencer.NodeID
}

// crowd is a grid whose members and clients all take IDs of several names.
type crowd struct {
	t       *testing.T
	g       *gridtest.Grid
	ids     *checker
	load    *load
	names   []string
	paused  []string // members that are cut off and do not know it
	holders []*holder
	lives   map[string]string    // that the names began with
	probe   *sequencer.Sequencer // attached and detached again to see how long that takes
}

// several names lie on different partitions, owned by different members.
func several(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("name-", i))
	}
	return names
}

// newCrowd starts n members, durable unless the change says otherwise.
func newCrowd(t *testing.T, n int, change func(c *grid.Config)) *crowd {
	t.Helper()
	long.NotShort(t, "it has many holders")
	g := gridtest.Start(t, gridtest.Config{Members: n, Durable: true, Change: func(name string, c *grid.Config) {
		c.Partitions = *somePartitions
		joinersExpectNothing(n)(name, c)
		if change != nil {
			change(c)
		}
	}})
	ids := newChecker(t)
	return &crowd{t: t, g: g, ids: ids, load: ids.load(time.Second), lives: map[string]string{}}
}

// use has clients and all members take IDs of names. The probe is a handle of the
// first of them.
func (c *crowd) use(clients int, names ...string) *crowd {
	c.t.Helper()
	c.names = names
	for i := range clients {
		host := fmt.Sprint("c", i+1)
		c.attach(host, c.g.Client(host))
	}
	for _, member := range c.g.Running() {
		c.attach(member, c.g.Member(member))
	}
	c.probe = create(c.t, c.g.Client("probe"), names[0], 0)
	ok(c.t, "detach", c.probe.DetachLogicalNode(c.t.Context()))
	c.t.Cleanup(c.load.stop)
	time.Sleep(4 * time.Second)
	for name, q := range c.tables("at first") {
		c.lives[name] = q.Life
	}
	c.kept("at first")
	return c
}

// spread returns names, the first of which has its replicas on members of whom at
// most one votes, so that the others can agree on something without them.
func (c *crowd) spread() []string {
	c.t.Helper()
	s := c.g.Member("m1").Status()
	voters := map[string]bool{}
	for _, m := range s.Members {
		voters[m.Incarnation] = m.Voter
	}
	for i := range 1000 {
		name, voting := fmt.Sprint("spread-", i), 0
		for _, member := range partitionOf(c.g, "m1", name).InSync {
			voting += count(voters[member])
		}
		if voting < 2 {
			return append([]string{name}, several(3)...)
		}
	}
	c.t.Fatal("all partitions have two voters")
	return nil
}

// attach has a host take IDs of every name. A member's handles end with it.
func (c *crowd) attach(host string, from creator) {
	c.t.Helper()
	for _, name := range c.names {
		s := create(c.t, from, name, 0)
		node, _ := s.LogicalNode()
		c.holders = append(c.holders, &holder{host: host, s: s, node: node})
		if _, member := from.(*grid.Member); member {
			c.load.run(host, s, sequencer.ErrClosed, sequencer.ErrDetached) // who leaves detaches first
		} else {
			c.load.run(host, s)
		}
	}
}

// reached returns the running members that are not paused.
func (c *crowd) reached() []string {
	return slices.DeleteFunc(c.g.Running(), func(name string) bool { return slices.Contains(c.paused, name) })
}

// gone leaves the handles of a host that has ended out of account.
func (c *crowd) gone(hosts ...string) {
	c.holders = slices.DeleteFunc(c.holders, func(h *holder) bool { return slices.Contains(hosts, h.host) })
}

// waited counts the holders' waits for a grant, and the longest of them.
func (c *crowd) waited() (n uint64, longest time.Duration) {
	for _, h := range c.holders {
		st := h.s.Stats()
		n, longest = n+st.GrantWaits, max(longest, st.LongestGrantWait)
	}
	return n, longest
}

// calm fails the test if any holder ever waited.
func (c *crowd) calm(when string) {
	c.t.Helper()
	for _, h := range c.holders {
		if st := h.s.Stats(); st.GrantWaits > 0 || st.WaitingNow > 0 {
			c.t.Errorf("%s: %s of %s waited %d times, %v at the longest, %d wait now",
				when, h.s.Name(), h.host, st.GrantWaits, st.LongestGrantWait, st.WaitingNow)
		}
	}
}

// tables returns the owners' entries of each name. A replaced owner continues until the
// roster reaches it, so two entries may be seen for a moment.
func (c *crowd) tables(when string) map[string]grid.SequencerInfo {
	c.t.Helper()
	for end := time.Now().Add(time.Second); ; time.Sleep(10 * time.Millisecond) {
		out, twice := c.tablesNow()
		if twice == "" {
			return out
		}
		if time.Now().After(end) {
			c.t.Errorf("%s: %s", when, twice)
			return out
		}
	}
}

func (c *crowd) tablesNow() (out map[string]grid.SequencerInfo, twice string) {
	out = map[string]grid.SequencerInfo{}
	for _, name := range c.reached() {
		for _, q := range c.g.Member(name).Status().Sequencers {
			if other, two := out[q.Name]; two {
				twice = fmt.Sprintf("%s is owned by %s and %s", q.Name, other.Owner, q.Owner)
			}
			out[q.Name] = q
		}
	}
	return out, twice
}

// kept fails the test unless every holder has its logical node still, and the
// owners' tables have it as well, in the life that it began in.
func (c *crowd) kept(when string) {
	c.t.Helper()
	tables := c.tables(when)
	for _, h := range c.holders {
		q, known := tables[h.s.Name()]
		node, attached := h.s.LogicalNode()
		switch {
		case !attached || node != h.node:
			c.t.Errorf("%s: %s of %s is %v at logical node %d, was at %d", when, h.s.Name(), h.host, h.s.State(), node, h.node)
		case !known:
			c.t.Errorf("%s: no owner knows %s", when, h.s.Name())
		case q.Life != c.lives[h.s.Name()]:
			c.t.Errorf("%s: %s has another life", when, h.s.Name())
		case !slices.Contains(q.AttachedNodes, h.node):
			c.t.Errorf("%s: the table of %s lacks logical node %d of %s", when, h.s.Name(), h.node, h.host)
		}
	}
}

// attachTime attaches the probe and detaches it again, and returns how long the
// attach took.
func (c *crowd) attachTime() time.Duration {
	c.t.Helper()
	began := time.Now()
	ok(c.t, "attach", c.probe.AttachLogicalNode(within(c.t, 30*time.Second)))
	took := time.Since(began)
	c.ids.caller("probe").must(c.probe, 1)
	ok(c.t, "detach", c.probe.DetachLogicalNode(within(c.t, 30*time.Second)))
	return took
}

// lacking returns the first condition that a full grid does not meet, "" for none:
// by the roster of every running member all members are settled, every partition
// has all its replicas in sync and none joining, and no member owns more than a
// quarter above the average. All have the same version.
func lacking(g *gridtest.Grid) string {
	running := g.Running()
	newest := g.Member(running[0]).Status().Version
	for _, name := range running {
		s := g.Member(name).Status()
		if s.Version != newest {
			return fmt.Sprintf("%s knows version %d, %s %d", name, s.Version, running[0], newest)
		}
		n := len(running)
		copies := min(s.Settings.Backups, n-1)
		limit := ceilDiv(len(s.Partitions)*5, n*4)
		if !s.Ready || s.Leader == "" || len(s.Members) != n || s.Copies != copies {
			return fmt.Sprintf("%s: ready %v (%s), leader %q, %d members, %d copies", name, s.Ready, s.NotReady, s.Leader,
				len(s.Members), s.Copies)
		}
		replicas := 0
		for _, m := range s.Members {
			replicas += m.Replicas
			if !m.Settled || !m.Alive || m.Partitions > limit {
				return fmt.Sprintf("%s: %s is settled %v, alive %v, owns %d of at most %d", name, m.Incarnation, m.Settled, m.Alive,
					m.Partitions, limit)
			}
		}
		if want := len(s.Partitions) * (1 + copies); replicas != want {
			return fmt.Sprintf("%s: %d replicas, want %d", name, replicas, want)
		}
		for _, p := range s.Partitions {
			if len(p.InSync) != 1+copies || p.Joining != "" || !slices.Contains(p.InSync, p.Owner) {
				return fmt.Sprintf("%s: partition %+v", name, p)
			}
		}
	}
	return ""
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// awaitFull waits until a grid is full, and returns how long that took.
func awaitFull(t *testing.T, g *gridtest.Grid, limit time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for what := lacking(g); what != ""; what = lacking(g) {
		if time.Since(began) > limit {
			t.Fatalf("not at full number within %v: %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(began)
}

// httpFrom returns a transport for requests of a host, with an operator's certificate if the
// grid is secured, and how the addresses of members begin.
func httpFrom(g *gridtest.Grid, host string) (t *http.Transport, scheme string) {
	t = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return g.Network.Host(host).Dial(ctx, addr)
		},
	}
	creds := g.Load(security.Admin)
	if creds == nil {
		return t, "http://"
	}
	t.DialTLSContext = func(ctx context.Context, _, addr string) (net.Conn, error) {
		raw, err := g.Network.Host(host).Dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		return tls.Client(raw, creds.Client(addr)), nil
	}
	return t, "https://"
}

// readyz asks a member over HTTP whether it is ready, and whether it answers.
func readyz(t *testing.T, g *gridtest.Grid, member string) (ready, answered bool) {
	t.Helper()
	transport, scheme := httpFrom(g, "operator")
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+member+":7948/readyz", nil)
	ok(t, "request", err)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return false, false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK, true
}

// inSync counts the partitions of whose in-sync sets a member is part, as another
// running member knows them.
func inSync(g *gridtest.Grid, by, member string) (n int) {
	incarnation := g.Member(member).Status().Answering
	for _, p := range g.Member(by).Status().Partitions {
		if slices.Contains(p.InSync, incarnation) {
			n++
		}
	}
	return n
}

// nameOf returns the name of the running member with an incarnation.
func nameOf(g *gridtest.Grid, i string) string {
	for _, name := range g.Running() {
		if g.Member(name).Status().Answering == i {
			return name
		}
	}
	return ""
}

// partitionOf returns a name's partition in the status of a member.
func partitionOf(g *gridtest.Grid, by, name string) grid.PartitionInfo {
	all := g.Member(by).Status().Partitions
	return all[roster.PartitionOf(name, len(all))]
}

// backupOf returns the name of a running member that has a copy of a name's
// partition and does not own it.
func backupOf(g *gridtest.Grid, by, name string) string {
	p := partitionOf(g, by, name)
	for _, i := range p.InSync {
		if i != p.Owner {
			return nameOf(g, i)
		}
	}
	return ""
}

// other returns a running member that is none of those given.
func other(g *gridtest.Grid, than ...string) string {
	for _, name := range g.Running() {
		if !slices.Contains(than, name) {
			return name
		}
	}
	return ""
}
