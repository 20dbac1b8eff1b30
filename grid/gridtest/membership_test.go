package gridtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// request makes one HTTP request, from a host to an address, and returns the status and the
// body.
func request(t *testing.T, g *gridtest.Grid, from, method, addr, path, body string) (status int, answer string) {
	t.Helper()
	transport, scheme := httpFrom(g, from)
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(within(t, 15*time.Second), method, scheme+addr+path, strings.NewReader(body))
	ok(t, "request", err)
	req.Header.Set("Content-Type", wire.JSON)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	ok(t, path, err)
	return res.StatusCode, string(bytes.TrimSpace(data))
}

// answerAt makes a request to a member's own API on loopback, and decodes its answer.
func answerAt[Out any](t *testing.T, g *gridtest.Grid, member, method, path, body string) (out Out) {
	t.Helper()
	status, answer := request(t, g, member, method, "localhost:7948", path, body)
	if status != http.StatusOK {
		t.Fatalf("%s of %s at %s: %d: %s", method, path, member, status, answer)
	}
	ok(t, path, json.Unmarshal([]byte(answer), &out))
	return out
}

func nodesAt(t *testing.T, g *gridtest.Grid, member string) []membership.Node {
	t.Helper()
	return answerAt[[]membership.Node](t, g, member, http.MethodGet, membership.PathNodes, "")
}

func stateAt(t *testing.T, g *gridtest.Grid, member string) membership.State {
	t.Helper()
	return answerAt[membership.State](t, g, member, http.MethodGet, membership.PathState, "")
}

func idOf(g *gridtest.Grid, member string) string { return g.Member(member).Status().Answering }

// agree reports whether every running member shows the same nodes, so many, and the size.
func agree(t *testing.T, g *gridtest.Grid, n int) bool {
	t.Helper()
	var first []membership.Node
	for _, name := range g.Running() {
		nodes := nodesAt(t, g, name)
		size := answerAt[int](t, g, name, http.MethodGet, membership.PathSize, "")
		if len(nodes) != n || size != n || first != nil && !slices.Equal(nodes, first) {
			return false
		}
		first = nodes
	}
	return true
}

// debugging enables the paths for debugging, with the first member as the only seed.
func debugging(change func(name string, c *grid.Config)) func(name string, c *grid.Config) {
	return func(name string, c *grid.Config) {
		c.Debug = true
		c.Join = []string{"m1:7946"}
		if change != nil {
			change(name, c)
		}
	}
}

// TestSevenMembersThroughOneSeed: members that know one seed agree on all seven within 10 s,
// and the paths show each with its addresses, ascending by id.
func TestSevenMembersThroughOneSeed(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.New(t, gridtest.Config{Members: 7, Delay: 5 * time.Millisecond,
			Change: debugging(func(_ string, c *grid.Config) {
				c.FirstLife = true
			})})
		began := time.Now()
		g.StartMembers("m1", "m2", "m3", "m4", "m5", "m6", "m7")
		eventually(t, 10*time.Second-time.Since(began), "seven members agree", func() bool { return agree(t, g, 7) })
		t.Logf("seven members agree %v after they were started", time.Since(began))
		nodes := nodesAt(t, g, "m5")
		if !slices.IsSortedFunc(nodes, func(a, b membership.Node) int { return strings.Compare(a.ID, b.ID) }) {
			t.Errorf("the nodes do not ascend by id: %v", nodes)
		}
		for _, name := range g.Running() {
			want := membership.Node{ID: idOf(g, name), Address: g.Network.Host(name).IP().String(), ProtocolPort: 7946,
				ServicePort: 7948}
			if !slices.Contains(nodes, want) {
				t.Errorf("%+v is not among %+v", want, nodes)
			}
		}
		s := stateAt(t, g, "m2")
		if len(s.Nodes) != 7 || len(s.Suspecting)+len(s.Failing) > 0 || s.Suspecting == nil || s.Failing == nil {
			t.Errorf("the state of a healthy grid is %+v", s)
		}
	})
}

// slowPace makes a suspicion last for 3 to 9 s.
var slowPace = grid.GossipPace{Interval: time.Second, Timeout: 300 * time.Millisecond, Cycles: 3}

// suspicion is when the members of a grid suspected one of them and removed it.
type suspicion struct{ suspected, removed time.Time }

// observe polls the states of members, every 100 ms for a time, and returns for each when it
// first suspected the one with an id, and when it no longer had it.
func observe(t *testing.T, g *gridtest.Grid, id string, members []string, during time.Duration) map[string]suspicion {
	t.Helper()
	out := map[string]suspicion{}
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for _, name := range members {
			s, seen := stateAt(t, g, name), out[name]
			if seen.suspected.IsZero() && slices.Contains(s.Suspecting, id) {
				seen.suspected = time.Now()
				if !slices.Contains(s.Nodes, id) {
					t.Errorf("%s suspects %s and does not list it", name, id)
				}
			}
			listed := slices.Contains(s.Nodes, id)
			if seen.removed.IsZero() && !listed {
				seen.removed = time.Now()
			}
			if !seen.removed.IsZero() && listed {
				t.Errorf("%s lists %s again while that is paused", name, id)
			}
			if !seen.removed.IsZero() && slices.Contains(append(s.Suspecting, s.Failing...), id) {
				t.Errorf("%s has removed %s, and it is %+v", name, id, s)
			}
			out[name] = seen
		}
	}
	return out
}

// pause holds a member's protocol back.
func pause(t *testing.T, g *gridtest.Grid, member string, d time.Duration) {
	t.Helper()
	if !answerAt[bool](t, g, member, http.MethodPost, membership.PathPause, fmt.Sprint(d.Milliseconds())) {
		t.Error("a pause is answered false")
	}
}

// TestPausedMemberIsSuspectedThenRemoved: while a member is paused for longer than a
// suspicion lasts, every other one suspects it, and removes it no earlier than Cycles
// intervals later, and no later than three times that. Its own API answers all the time, and
// it comes back by itself.
func TestPausedMemberIsSuspectedThenRemoved(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Change: debugging(func(_ string, c *grid.Config) {
			c.FirstLife, c.Gossip = true, slowPace
		})})
		paused, others := "m3", []string{"m1", "m2", "m4"}
		id := idOf(g, paused)
		eventually(t, 10*time.Second, "four members agree", func() bool { return agree(t, g, 4) })
		const length = 20 * time.Second
		began := time.Now()
		pause(t, g, paused, length)
		if size := answerAt[int](t, g, paused, http.MethodGet, membership.PathSize, ""); size == 0 ||
			time.Since(began) > time.Second {
			t.Errorf("the paused member answers %d after %v", size, time.Since(began))
		}
		shortest, longest := 3*slowPace.Interval, 9*slowPace.Interval
		seen := observe(t, g, id, others, 17*time.Second)
		first := began.Add(time.Hour)
		for name, s := range seen {
			if s.suspected.IsZero() || s.removed.IsZero() {
				t.Fatalf("%s: suspected %v, removed %v", name, s.suspected, s.removed)
			}
			if s.suspected.Before(first) {
				first = s.suspected
			}
		}
		for name, s := range seen {
			took := s.removed.Sub(first)
			t.Logf("%s suspects it after %v and removes it %v after the first suspicion", name, s.suspected.Sub(began), took)
			if took < shortest-200*time.Millisecond || took > longest+time.Second {
				t.Errorf("%s removed it %v after the first suspicion, want %v to %v", name, took, shortest, longest)
			}
		}
		time.Sleep(time.Until(began.Add(length)))
		back := eventually(t, 15*time.Second, "it is back by itself", func() bool { return agree(t, g, 4) })
		t.Logf("back %v after the pause", back)
		eventually(t, time.Minute, "the grid is settled", func() bool {
			return g.Member("m1").Status().Settled &&
				g.Member(paused).Ready()
		})
	})
}

// TestShortPauseRemovesNothing: a pause that ends before the suspicion does is refuted, and
// the member was listed all the time. Each other member probes the paused one within 3 s and
// suspects it a second later; a suspicion lasts for 6 s.
func TestShortPauseRemovesNothing(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4, Change: debugging(func(_ string, c *grid.Config) {
			c.FirstLife, c.Gossip = true, grid.GossipPace{Interval: time.Second, Timeout: 300 * time.Millisecond, Cycles: 6}
			if c.Security.Insecure {
				c.Security.GossipKey = []byte(strings.Repeat("k", 32))
			}
		})})
		others := []string{"m1", "m3", "m4"}
		id := idOf(g, "m2")
		pause(t, g, "m2", 5500*time.Millisecond)
		suspected, failing := 0, 0
		for end := time.Now().Add(14 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			for _, name := range others {
				s := stateAt(t, g, name)
				suspected += count(slices.Contains(s.Suspecting, id))
				failing += count(slices.Contains(s.Failing, id))
				if !slices.Contains(s.Nodes, id) {
					t.Fatalf("%s has removed a member that was paused for less than a suspicion lasts", name)
				}
			}
		}
		if suspected == 0 || failing == 0 {
			t.Errorf("it was suspected %d times and failing %d times", suspected, failing)
		}
		for _, name := range g.Running() {
			if s := stateAt(t, g, name); len(s.Suspecting)+len(s.Failing) > 0 {
				t.Errorf("%s still has %+v", name, s)
			}
		}
	})
}

// TestLeaveAndRejoinWithinTheWindow: a member that leaves and comes back with the same
// identity immediately is listed again by all, as its new incarnation alone.
func TestLeaveAndRejoinWithinTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Durable: true, Change: debugging(nil)})
		for range 2 {
			before := roster.Incarnation(idOf(g, "m2"))
			g.Leave("m2")
			if !agree(t, g, 2) {
				t.Error("a member that has left is listed")
			}
			g.StartMembers("m2")
			after := roster.Incarnation(idOf(g, "m2"))
			if before.Member() != after.Member() || before == after {
				t.Fatalf("%s came back as %s", before, after)
			}
			eventually(t, 5*time.Second, "three members agree", func() bool { return agree(t, g, 3) })
		}
	})
}

// TestConcurrentJoinsAreAllKept: of members that join at one moment through different seeds
// none is lost, and all agree within 3 log2(2N) intervals.
func TestConcurrentJoinsAreAllKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Delay: 20 * time.Millisecond,
			Change: func(name string, c *grid.Config) {
				c.FirstLife, c.Gossip = true, slowPace
				if seed := map[string]string{"m4": "m1", "m5": "m2", "m6": "m3", "m7": "m1", "m8": "m2"}[name]; seed != "" {
					c.Join, c.Expect = []string{seed + ":7946"}, 0
				}
			}})
		began := time.Now()
		g.StartMembers("m4", "m5", "m6", "m7", "m8")
		eventually(t, 12*slowPace.Interval-time.Since(began), "eight members agree", func() bool { return agree(t, g, 8) })
		t.Logf("eight members agree %v after five of them were started", time.Since(began))
	})
}

// TestUnreachableForOneIsNotSuspected: a member that one other cannot reach is failing for
// that one alone, and suspected by none, since others are asked to probe it.
func TestUnreachableForOneIsNotSuspected(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 4,
			Change: debugging(func(_ string, c *grid.Config) { c.FirstLife = true })})
		eventually(t, 10*time.Second, "four members agree", func() bool { return agree(t, g, 4) })
		cut := map[string]string{"m2": idOf(g, "m3"), "m3": idOf(g, "m2")}
		g.Network.Cut("m2", "m3")
		failing := 0
		for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			for _, name := range g.Running() {
				s := stateAt(t, g, name)
				if len(s.Nodes) != 4 || len(s.Suspecting) > 0 || len(s.Failing) > 0 &&
					!slices.Equal(s.Failing, []string{cut[name]}) {
					t.Fatalf("%s has %+v", name, s)
				}
				failing += len(s.Failing)
			}
		}
		if failing == 0 {
			t.Error("no probe has failed")
		}
		g.Network.HealAll()
		eventually(t, 5*time.Second, "no probe fails", func() bool {
			return len(stateAt(t, g, "m2").Failing)+len(stateAt(t, g, "m3").Failing) == 0
		})
	})
}

// TestMissedNewsIsMadeUp: a member that hears nothing while another one joins, for a shorter
// time than a suspicion lasts, has the same members as the others soon after.
func TestMissedNewsIsMadeUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: debugging(func(name string, c *grid.Config) {
			c.FirstLife, c.Gossip = true, slowPace
			if name == "m4" {
				c.Expect = 0
			}
		})})
		began := time.Now()
		pause(t, g, "m3", 3*time.Second)
		started := make(chan error, 1)
		go func() { started <- g.TryMember(t.Context(), "m4") }()
		eventually(t, 2500*time.Millisecond, "the others know the fourth",
			func() bool { return len(nodesAt(t, g, "m1"))+len(nodesAt(t, g, "m2")) == 8 })
		if n := len(nodesAt(t, g, "m3")); n != 3 {
			t.Errorf("a member that is paused lists %d members after a join", n)
		}
		time.Sleep(time.Until(began.Add(3 * time.Second)))
		ok(t, "start of the fourth", <-started)
		took := eventually(t, 8*slowPace.Interval, "four members agree", func() bool { return agree(t, g, 4) })
		t.Logf("four members agree %v after one of them had missed the join", took)
	})
}

// TestUnsubscribeIsToldToAll: a member that leaves by request is removed by the others
// without a suspicion, and ends, although another member crashes at that moment.
func TestUnsubscribeIsToldToAll(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 5,
			Change: debugging(func(_ string, c *grid.Config) { c.FirstLife = true })})
		eventually(t, 10*time.Second, "five members agree", func() bool { return agree(t, g, 5) })
		leaver := g.Member("m4")
		id := idOf(g, "m4")
		if status, answer := request(t, g, "m4", http.MethodPost, "localhost:7948", membership.PathUnsubscribe,
			`{"id":"another"}`); status != http.StatusBadRequest || !strings.Contains(answer, id) {
			t.Errorf("for another member: %d: %s", status, answer)
		}
		if !answerAt[bool](t, g, "m4", http.MethodPost, membership.PathUnsubscribe, "") {
			t.Error("answered false")
		}
		g.Crash("m5")
		<-leaver.Done()
		g.Crash("m4") // its process has ended
		for range 100 {
			for _, name := range []string{"m1", "m2", "m3"} {
				if s := stateAt(t, g, name); slices.Contains(s.Suspecting, id) {
					t.Fatalf("%s suspects the member that left", name)
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		for _, name := range []string{"m1", "m2", "m3"} {
			if slices.ContainsFunc(nodesAt(t, g, name), func(n membership.Node) bool { return n.ID == id }) {
				t.Errorf("%s lists the member that left", name)
			}
		}
	})
}

// TestSubscribe: a member that knows no seed is brought in by a request to one that runs.
// Members of other grids, silent addresses and wrong input are refused.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Change: func(name string, c *grid.Config) {
			c.FirstLife = true
			switch name {
			case "newcomer":
				c.Join, c.Expect = []string{"nowhere:7946"}, 0
			case "stranger":
				c.Join, c.Expect, c.Name = nil, 1, "another"
			case "namesake":
				c.Join, c.Expect = nil, 1
			}
		}})
		g.StartMembers("stranger", "namesake")
		started := make(chan error, 1)
		go func() { started <- g.TryMember(t.Context(), "newcomer") }()
		time.Sleep(time.Second)
		subscribe := func(body string) (int, string) {
			return request(t, g, "operator", http.MethodPost, "m2:7948", membership.PathSubscribe, body)
		}
		status, answer := subscribe(`{"id":"x","address":"newcomer","protocolPort":7946,"servicePort":7948}`)
		var out membership.Subscribed
		ok(t, "subscribe", json.Unmarshal([]byte(answer), &out))
		if status != http.StatusOK || len(out.Nodes) != 4 || out.RumorsToSend == nil || out.SuspectingNodesTimeout == nil {
			t.Errorf("subscribe: %d: %s", status, answer)
		}
		ok(t, "start of the newcomer", <-started)
		eventually(t, 5*time.Second, "four members agree", func() bool { return len(nodesAt(t, g, "m3")) == 4 })
		for _, test := range []struct {
			body   string
			status int
			words  string
		}{
			{`{"address":"stranger","protocolPort":7946}`, http.StatusConflict, `another`},
			{`{"address":"namesake","protocolPort":7946}`, http.StatusConflict, `another grid of the same name`},
			{`{"address":"newcomer","protocolPort":7946}`, http.StatusOK, "rumorsToSend"},
			{`{"address":"newcomer","protocolPort":1}`, http.StatusServiceUnavailable, "no member of this grid answers gossip"},
			{`{"address":"m2","protocolPort":7946}`, http.StatusBadRequest, "is this member"},
			{`{"address":"m1","protocolPort":70000}`, http.StatusBadRequest, "protocolPort is 70000"},
			{`{"address":"m1"}`, http.StatusBadRequest, "protocolPort is 0"},
			{`{"address":"","protocolPort":1}`, http.StatusBadRequest, "address has 0 bytes"},
			{`{"address":"m1","protocolPort":7946,"servicePort":-1}`, http.StatusBadRequest, "servicePort is -1"},
			{`{"id":"` + strings.Repeat("x", 256) + `","address":"m1","protocolPort":7946}`, http.StatusBadRequest,
				"id has 256 bytes"},
			{`{"address":"m1","port":7946}`, http.StatusBadRequest, `\"port\"`},
			{`{`, http.StatusBadRequest, "protocolPort"},
			{``, http.StatusBadRequest, "protocolPort"},
			{strings.Repeat(" ", 5000), http.StatusBadRequest, "4096 bytes"},
		} {
			if status, answer := subscribe(test.body); status != test.status || !strings.Contains(answer, test.words) {
				t.Errorf("%.60s: %d: %s; want %d and %q", test.body, status, answer, test.status, test.words)
			}
		}
	})
}

// TestDebugPaths: without Debug, from another machine, through a proxy or by another name
// the paths for debugging do not exist; their input is checked, and shutdown ends the member.
func TestDebugPaths(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 2, Durable: true,
			Change: func(name string, c *grid.Config) { c.Debug = name == "m1" }})
		paths := map[string]string{membership.PathState: http.MethodGet, membership.PathPause: http.MethodPost,
			membership.PathShutdown: http.MethodPost}
		for path, method := range paths {
			for _, test := range []struct{ from, addr string }{{"m2", "localhost:7948"}, {"m2", "m1:7948"},
				{"operator", "m1:7948"}, {"m1", "m1:7948"}} {
				if status, answer := request(t, g, test.from, method, test.addr, path, "1"); status != http.StatusNotFound ||
					!strings.Contains(answer, "unknown_path") {
					t.Errorf("%s from %s to %s: %d: %s", path, test.from, test.addr, status, answer)
				}
			}
		}
		for _, test := range []struct {
			method, path, body string
			status             int
			words              string
		}{
			{http.MethodPost, membership.PathState, "", http.StatusMethodNotAllowed, "GET"},
			{http.MethodGet, membership.PathPause, "", http.StatusMethodNotAllowed, "POST"},
			{http.MethodPost, membership.PathNodes, "", http.StatusMethodNotAllowed, "GET"},
			{http.MethodGet, membership.PathSubscribe, "", http.StatusMethodNotAllowed, "POST"},
			{http.MethodDelete, membership.PathUnsubscribe, "", http.StatusMethodNotAllowed, "POST"},
			{http.MethodPost, membership.PathPause, "", http.StatusBadRequest, "milliseconds, 0 to 600000"},
			{http.MethodPost, membership.PathPause, "600001", http.StatusBadRequest, "600001"},
			{http.MethodPost, membership.PathPause, "1.5", http.StatusBadRequest, "1.5"},
			{http.MethodPost, membership.PathPause, "-1", http.StatusBadRequest, "-1"},
			{http.MethodPost, membership.PathShutdown, "3601", http.StatusBadRequest, "seconds, 0 to 3600"},
			{http.MethodPost, membership.PathShutdown, "soon", http.StatusBadRequest, "soon"},
		} {
			if status, answer := request(t, g, "m1", test.method, "127.0.0.1:7948", test.path,
				test.body); status != test.status || !strings.Contains(answer, test.words) {
				t.Errorf("%s %s %q: %d: %s; want %d and %q", test.method, test.path, test.body, status, answer, test.status,
					test.words)
			}
		}
		m1, began := g.Member("m1"), time.Now()
		if !answerAt[bool](t, g, "m1", http.MethodPost, membership.PathShutdown, "5") {
			t.Error("answered false")
		}
		<-m1.Done()
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}
