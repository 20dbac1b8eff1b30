package gridtest_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/sequencer"
)

// storm is a grid to which everything happens that can happen. The order of its
// faults follows from the seed; what they meet does not, quite.
type storm struct {
	t     *testing.T
	g     *gridtest.Grid
	ids   *checker
	rng   *rand.Rand
	names []string
	mu    sync.Mutex // guards clients
	// clients are by host. A host without one has crashed.
	clients map[string]*client.Client
	load    *load
	counts  map[string]int
}

const (
	stormMembers = 5
	stormClients = 10
)

// stormErrors are what a call may end with while anything can happen.
var stormErrors = []error{
	sequencer.ErrDetached, sequencer.ErrAttached, sequencer.ErrDestroyed, sequencer.ErrNotFound, sequencer.ErrNoFreeNode,
	sequencer.ErrGrantExpired, sequencer.ErrUnavailable, sequencer.ErrClosed,
}

func newStorm(t *testing.T, seed uint64) *storm {
	g := gridtest.Start(t, gridtest.Config{Members: stormMembers, Durable: true})
	ids := newChecker(t)
	s := &storm{
		t: t, g: g, ids: ids, rng: rand.New(rand.NewPCG(seed, 0)), names: []string{"orders", "users", "few"},
		clients: map[string]*client.Client{}, load: ids.load(0), counts: map[string]int{},
	}
	for i := range stormClients {
		s.dial(fmt.Sprint("c", i))
	}
	return s
}

// dial puts a client on a host, which keeps taking IDs until it is closed.
func (s *storm) dial(host string) {
	c := s.g.Client(host)
	s.mu.Lock()
	s.clients[host] = c
	s.mu.Unlock()
	seed := s.rng.Uint64()
	s.load.done.Go(func() { s.use(host, c, rand.New(rand.NewPCG(seed, 0))) })
}

// use takes IDs by one client until it is closed.
func (s *storm) use(host string, c creator, rng *rand.Rand) {
	callers := map[string]*caller{}
	for _, name := range s.names {
		callers[name] = s.ids.caller(host)
	}
	for s.load.ctx.Err() == nil {
		name := s.names[rng.IntN(len(s.names))]
		ctx, cancel := context.WithTimeout(s.load.ctx, 5*time.Second)
		handle, err := c.CreateSequencer(ctx, name, sequencer.Config{Nodes: 128})
		if err == nil {
			_, err = callers[name].next(ctx, handle)
		}
		for err == nil && rng.IntN(10) > 0 {
			_, err = callers[name].next(ctx, handle)
		}
		switch {
		case err == nil && rng.IntN(40) == 0:
			err = handle.DetachLogicalNode(ctx)
		case err == nil && rng.IntN(400) == 0:
			err = handle.Destroy(ctx)
		case matches(err, []error{sequencer.ErrDetached}):
			err = handle.AttachLogicalNode(ctx)
		}
		cancel()
		if matches(err, []error{sequencer.ErrClosed}) {
			return
		}
		if err != nil && !matches(err, stormErrors) {
			s.t.Errorf("%s: %s: %v", host, name, err)
		}
		time.Sleep(time.Duration(rng.IntN(800)) * time.Millisecond)
	}
}

// pick returns one of several, "" of none.
func (s *storm) pick(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[s.rng.IntN(len(of))]
}

// stopped returns the members that do not run.
func (s *storm) stopped() (out []string) {
	for i := range stormMembers {
		if name := fmt.Sprint("m", i+1); !slices.Contains(s.g.Running(), name) {
			out = append(out, name)
		}
	}
	return out
}

// step does something to the grid.
func (s *storm) step() {
	g, member, host := s.g, s.pick(s.g.Running()), fmt.Sprint("c", s.rng.IntN(stormClients))
	other := s.pick(slices.Concat(g.Running(), []string{host}))
	spare := len(g.Running()) > 2
	did := ""
	switch n := s.rng.IntN(13); {
	case n == 0 && spare:
		did = "crash"
		g.Crash(member)
	case n == 1 && spare:
		did = "leave"
		if g.TryLeave(within(s.t, 5*time.Second), member) != nil {
			did = "leave without a goodbye"
		}
	case n <= 4 && len(s.stopped()) > 0:
		did = "start"
		if g.TryMember(within(s.t, 10*time.Second), s.pick(s.stopped())) != nil {
			did = "start in vain"
		}
	case n == 5:
		did = "cut"
		g.Network.Cut(member, other)
	case n == 6:
		did = "one-way cut"
		g.Network.CutOneWay(member, other)
	case n == 7:
		did = "pause"
		g.Network.Pause(member)
	case n == 8:
		did = "step"
		g.StepClock(member, time.Duration(s.rng.Int64N(int64(4*time.Hour)))-2*time.Hour)
	case n == 9:
		did = "client crash"
		s.crash(host)
		s.g.Network.HealAll()
		s.resume()
		s.dial(host)
	case n == 10:
		did = "delay"
		g.Network.SetDelay(time.Duration(s.rng.IntN(100)) * time.Millisecond)
	default:
		did = "heal"
		g.Network.HealAll()
		s.resume()
	}
	s.counts[did]++
}

func (s *storm) resume() {
	for i := range stormMembers {
		s.g.Network.Resume(fmt.Sprint("m", i+1))
	}
}

func (s *storm) crash(host string) {
	s.g.Network.Crash(host)
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.clients[host].Close()
}

// heal ends all faults and starts everybody.
func (s *storm) heal() {
	s.g.Network.HealAll()
	s.g.Network.SetDelay(0)
	s.resume()
	s.g.StartMembers(s.stopped()...)
}

// A failure names its seed; give it, and any length, to see the faults again:
//
//	go test ./grid/gridtest -run TestStorm -seed 1 -storm 1h
var (
	stormSeed = flag.Uint64("seed", 0, "what the faults of TestStorm follow from; 0 = random")
	stormTime = flag.Duration("storm", stormDefault, "how long the faults of TestStorm go on")
)

func TestStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seed := *stormSeed
		if seed == 0 {
			seed = rand.Uint64()
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the seed was %d", seed)
			}
		})
		s := newStorm(t, seed)
		for end := time.Now().Add(*stormTime); time.Now().Before(end); {
			s.step()
			time.Sleep(time.Duration(s.rng.IntN(8000)) * time.Millisecond)
		}
		s.heal()
		healed := time.Now()
		s.load.stop()
		var wg sync.WaitGroup
		for host, c := range s.clients {
			wg.Go(func() { s.first(host, c) })
		}
		wg.Wait()
		t.Logf("%v; %d IDs; everybody had one %v after the heal", s.counts, s.ids.count(), time.Since(healed))
	})
}

// first takes a client's first ID after everything.
func (s *storm) first(host string, c *client.Client) {
	ctx := within(s.t, 30*time.Second)
	handle, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128})
	if err == nil && handle.State() == sequencer.Detached {
		err = handle.AttachLogicalNode(ctx)
	}
	if err == nil {
		_, err = s.ids.caller(host).next(ctx, handle)
	}
	if err != nil {
		s.t.Errorf("%s has no ID 30 s after the heal: %v", host, err)
	}
}
