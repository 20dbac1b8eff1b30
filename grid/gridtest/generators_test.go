package gridtest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// madeIDs are the IDs of all processes.
type madeIDs struct {
	t   *testing.T
	mu  sync.Mutex
	ids map[sequencer.ID]string // to the process
}

func (s *madeIDs) add(process string, id sequencer.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, twice := s.ids[id]; twice {
		s.t.Errorf("%s issued %d, which %s has issued", process, id, other)
	}
	s.ids[id] = process
}

// generator is a process that makes IDs by the rules of docs/grants.md alone.
type generator struct {
	*generators
	name  string
	rules *grants.Generator
	began time.Time // of its monotonic clock
	last  sequencer.ID
	made  int
}

func (p *generator) at() int64 { return time.Since(p.began).Milliseconds() }

// request sends the request that is due, to a random member. Its reply may get lost.
func (p *generator) request() {
	due, ready := p.rules.Due()
	if !ready || due > p.at() {
		return
	}
	in := wire.GrantRequest{Grant: p.rules.Request(p.at())}
	if in.Grant == "" {
		in.Name, in.Create = "orders", &wire.IDsCreate{Layout: wire.Layout{Bits: 63, LowBits: 22, Nodes: 16}}
	}
	running := p.g.Running()
	var out wire.GrantResponse
	err := p.send(http.MethodPost, running[rand.IntN(len(running))], in, &out)
	if rand.IntN(10) == 0 {
		err = errors.New("the reply is lost")
	}
	if err != nil {
		later, _ := errors.AsType[*wire.LaterError](err)
		refused := grants.Refusal{}
		if wire.IsAnswer(err) {
			refused.Code = wire.ErrorOf(err, 0).Code
		}
		if later != nil {
			refused.RetryAfter = later.After.Milliseconds()
		}
		p.rules.Refused(p.at(), refused)
		return
	}
	p.rules.Replied(p.at(), grants.Reply{Grant: out.Grant, Replaced: out.Replaced, Node: int64(out.Node), Epoch: out.Epoch,
		TimeShift: out.TimeShift, NodeShift: out.NodeShift, Counters: out.Counters, From: int64(out.From),
		Until: int64(out.Until), Now: int64(out.Now), RenewIn: out.RenewIn, Ends: out.Ends})
}

// issue makes some IDs, each larger than the one before.
func (p *generator) issue(all *madeIDs) {
	for range 1 + rand.IntN(20) {
		id, wait, err := p.rules.Next(p.at())
		if err != nil {
			p.t.Errorf("%s: %v", p.name, err)
			return
		}
		if id == 0 {
			time.Sleep(time.Duration(min(max(wait, 1), 50)) * time.Millisecond)
			return
		}
		if sequencer.ID(id) <= p.last {
			p.t.Errorf("%s issued %d after %d", p.name, id, p.last)
		}
		p.last = sequencer.ID(id)
		p.made++
		all.add(p.name, p.last)
	}
}

// run makes IDs until ctx ends. Now and then it is paused, forks, or releases its grant and starts again.
func (p *generator) run(ctx context.Context, all *madeIDs) {
	p.rules = grants.New(rand.Int64N)
	p.began = time.Now().Add(-time.Duration(rand.Int64N(int64(time.Hour))))
	for ctx.Err() == nil {
		p.request()
		p.issue(all)
		switch rand.IntN(2000) {
		case 0:
			time.Sleep(time.Duration(rand.Int64N(int64(time.Minute))))
		case 1:
			p.rules.Forked()
		case 2:
			if grant, last := p.rules.Release(); grant != "" {
				in := wire.GrantRelease{Grant: grant, Last: new(clustertime.Tick(last))}
				_ = p.send(http.MethodDelete, p.g.Running()[0], in, &wire.GrantReleased{})
			}
			p.rules, p.last = grants.New(rand.Int64N), 0
		}
		time.Sleep(time.Duration(rand.Int64N(int64(40 * time.Millisecond))))
	}
}

// TestGenerators: generators by the rules of docs/grants.md run beside Go holders, more than there are logical nodes,
// while members crash and come back. No two IDs are equal, and each process's ascend.
func TestGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3})
		time.Sleep(30 * time.Second)
		all := &madeIDs{t: t, ids: map[sequencer.ID]string{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running sync.WaitGroup
		var processes []*generator
		for i := range 14 {
			p := &generator{generators: newGenerators(t, g), name: "generator " + string(rune('a'+i))}
			processes = append(processes, p)
			running.Go(func() { p.run(ctx, all) })
		}
		for i := range 4 {
			host := "holder " + string(rune('a'+i))
			c := g.Client("web")
			running.Go(func() { issueByHandle(ctx, c, host, all) })
		}
		for range long.Or(6, 8) {
			time.Sleep(20 * time.Second)
			name := g.Running()[rand.IntN(3)]
			g.Crash(name)
			time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Second))))
			g.StartMembers(name)
		}
		cancel()
		running.Wait()
		made := 0
		for _, p := range processes {
			if p.made == 0 { // pauses, and waits for a node, may take all of the time of a single one; nodes are free now
				alone, stop := context.WithTimeout(t.Context(), time.Minute)
				p.run(alone, all)
				stop()
			}
			made += p.made
			if p.made == 0 {
				t.Errorf("%s made no ID", p.name)
			}
		}
		if made < 1000*len(processes) {
			t.Errorf("the generators made %d IDs", made)
		}
		t.Logf("%d IDs", len(all.ids))
	})
}

// issueByHandle makes IDs by a Go client, which keeps its handle.
func issueByHandle(ctx context.Context, c *client.Client, name string, all *madeIDs) {
	cfg := sequencer.Config{Layout: sequencer.Layout{Bits: 63, LowBits: 22, Nodes: 16}}
	for ctx.Err() == nil {
		s, err := c.CreateSequencer(ctx, "orders", cfg)
		for err == nil && ctx.Err() == nil { // Next needs no call, and returns IDs also when ctx has ended
			var id sequencer.ID
			if id, err = s.Next(ctx); err == nil {
				all.add(name, id)
				time.Sleep(time.Duration(rand.Int64N(int64(40 * time.Millisecond))))
			}
		}
		if ctx.Err() == nil {
			time.Sleep(time.Second)
		}
	}
}
