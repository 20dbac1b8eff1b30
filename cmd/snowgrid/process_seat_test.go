//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
)

// seat is a member's place: addresses and a data directory, in which an agent is
// started again after its process has ended.
type seat struct {
	*agent
	dir, gossip, raft, api string

	more []string // arguments of this agent
}

// seats are the places of one grid.
type seats struct {
	t    *testing.T
	all  []*seat
	more []string // arguments of every agent
}

// startSeats starts so many agents, which form a grid, and waits until every one
// of them is ready.
func startSeats(t *testing.T, count int, more ...string) *seats {
	t.Helper()
	long.NotShort(t, "it runs several agents as processes")
	g := &seats{t: t, more: append([]string{"--expect", strconv.Itoa(count)}, more...)}
	for range count {
		g.add()
	}
	g.startAll()
	for _, s := range g.all {
		g.awaitReady(s)
	}
	return g
}

// add adds a seat without an agent.
func (g *seats) add() *seat {
	g.t.Helper()
	s := &seat{dir: g.t.TempDir()}
	s.move(g.t)
	g.all = append(g.all, s)
	return s
}

// move gives a seat other addresses.
func (s *seat) move(t *testing.T) {
	t.Helper()
	addrs, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	s.gossip, s.raft, s.api = addrs[0], addrs[1], addrs[2]
}

// start starts an agent in a seat; it serves when start has returned.
func (g *seats) start(s *seat) {
	g.t.Helper()
	var join []string
	for _, other := range g.all {
		join = append(join, other.gossip)
	}
	served := make(chan string, 1)
	a := &agent{dir: s.dir}
	a.process = start(g.t, func(r io.Reader) {
		line, _ := bufio.NewReader(r).ReadString('\n')
		served <- line
	}, append([]string{"agent", "--gossip-addr", s.gossip, "--raft-addr", s.raft, "--api-addr", s.api,
		"--data-dir", s.dir, "--join", strings.Join(join, ",")}, slices.Concat(g.more, s.more)...)...)
	a.awaitAPI(served)
	s.agent = a
}

// startAll starts an agent in every seat.
func (g *seats) startAll() {
	g.t.Helper()
	var starting sync.WaitGroup
	for _, s := range g.all {
		starting.Go(func() { g.start(s) })
	}
	starting.Wait()
	if g.t.Failed() {
		g.t.FailNow()
	}
}

// kill ends the process of a seat without a word.
func (s *seat) kill() {
	s.t.Helper()
	s.signal(os.Kill)
	_ = s.exit()
}

// apisBut joins the API addresses of all seats but those.
func (g *seats) apisBut(but ...*seat) []string {
	var out []string
	for _, s := range g.all {
		if !slices.Contains(but, s) {
			out = append(out, s.api)
		}
	}
	return out
}

// agents returns the agents that sit there.
func (g *seats) agents() (out []*agent) {
	for _, s := range g.all {
		out = append(out, s.agent)
	}
	return out
}

// ready asks an agent whether it is ready.
func (s *seat) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := probe(ctx, s.api, "/readyz")
	return err == nil && status == http.StatusOK
}

// awaitReady waits until an agent is ready, and returns how long that took.
func (g *seats) awaitReady(s *seat) time.Duration {
	g.t.Helper()
	began := time.Now()
	await(g.t, s.api+" is ready", func() bool { return s.ready(g.t.Context()) })
	return time.Since(began)
}

// status waits for a status by which a leader is known and every partition has
// an owner that sits in a seat.
func (g *seats) status(but ...*seat) grid.Status {
	g.t.Helper()
	return awaitStatus(g.t, strings.Join(g.apisBut(but...), ","), func(s grid.Status) string {
		if s.Leader == "" {
			return "no leader"
		}
		for _, p := range s.Partitions {
			if g.at(s, p.Owner) == nil {
				return fmt.Sprintf("partition %+v", p)
			}
		}
		return ""
	})
}

// at returns the seat of an incarnation, nil for none.
func (g *seats) at(s grid.Status, incarnation string) *seat {
	for _, m := range s.Members {
		if m.Incarnation == incarnation {
			if i := slices.IndexFunc(g.all, func(at *seat) bool { return at.api == m.API }); i >= 0 {
				return g.all[i]
			}
		}
	}
	return nil
}

// owner returns the seat of a name's owner.
func (g *seats) owner(s grid.Status, name string) *seat { return g.at(s, s.OwnerOf(name)) }

// full returns a check that the seats are the members, that each is settled, that each
// partition has this number of replicas, all in sync and none joining, and that no member
// owns more than a quarter above the average.
func (g *seats) full(replicas int) func(grid.Status) string {
	return func(s grid.Status) string {
		if complaint := membersAre(g.agents()...)(s); complaint != "" {
			return complaint
		}
		limit := (len(s.Partitions)*5 + 4*len(g.all) - 1) / (4 * len(g.all))
		for _, m := range s.Members {
			if !m.Settled || m.Partitions > limit {
				return fmt.Sprintf("of at most %d partitions: %+v", limit, m)
			}
		}
		for _, p := range s.Partitions {
			if len(p.InSync) != replicas || p.Joining != "" {
				return fmt.Sprintf("not %d replicas: %+v", replicas, p)
			}
		}
		return ""
	}
}
