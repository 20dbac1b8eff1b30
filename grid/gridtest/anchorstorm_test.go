package gridtest_test

import (
	"context"
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Storms over grids with an anchor, whose store loses, repeats and delays calls, and with learners, zones,
// removals and settings that change. Members without disks may all be lost: uniqueness rests on the anchor
// then.
//
//	go test ./grid/gridtest -run TestAnchorStorm -v -anchorstorms 60 -anchorstorm 4m
var (
	anchorStorms    = flag.Int("anchorstorms", 1, "how many storms TestAnchorStorm makes")
	anchorStormTime = flag.Duration("anchorstorm", 20*time.Second, "duration of the faults of each")
	anchorStormSeed = flag.Uint64("anchorseed", 1, "seed of the first")
)

const (
	// anchorReadyLimit is how soon after the heal every member is ready.
	anchorReadyLimit = 150 * time.Second
	// anchorStartLimit exceeds the longest wait for the anchor: one and a half times two windows of 23 s.
	anchorStartLimit = 2 * time.Minute
	anchorFirstLimit = 15 * time.Minute // clocks were up to 10 minutes ahead
	anchorClients    = 4
)

// anchorStorm is one storm.
type anchorStorm struct {
	t       *testing.T
	rng     *rand.Rand
	g       *gridtest.Grid
	members []string
	durable bool
	zones   int
	window  time.Duration
	backups int
	voters  int
	ids     *issued
	counts  map[string]int
	stepped map[string]time.Duration
	ahead   time.Duration // how far a clock was ahead

	mu     sync.Mutex // guards what follows
	formed bool
	faulty map[string]*storetest.Faulty
}

// issued are the IDs of a storm, by name.
type issued struct {
	t  *testing.T
	mu sync.Mutex
	by map[string]map[sequencer.ID]string
	n  int
}

func (c *issued) note(name, who string, ids ...sequencer.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[name] == nil {
		c.by[name] = map[sequencer.ID]string{}
	}
	for _, id := range ids {
		if other, twice := c.by[name][id]; twice {
			c.t.Errorf("%s: ID %d of %s was issued before to %s", name, id, who, other)
		}
		c.by[name][id] = who
	}
	c.n += len(ids)
}

func TestAnchorStorm(t *testing.T) {
	t.Parallel()
	for i := range *anchorStorms {
		seed := *anchorStormSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newAnchorStorm(t, seed).run() })
		})
	}
}

func newAnchorStorm(t *testing.T, seed uint64) *anchorStorm {
	rng := rand.New(rand.NewPCG(seed, 7))
	n := 3 + rng.IntN(10)
	s := &anchorStorm{
		t: t, rng: rng, durable: rng.IntN(3) > 0, zones: rng.IntN(4),
		window:  time.Duration(5000+rng.IntN(10_000)) * time.Millisecond,
		backups: 1 + rng.IntN(2), voters: min([]int{1, 3, 5, 7}[rng.IntN(4)], (n-1)/2*2+1),
		ids: &issued{t: t, by: map[string]map[sequencer.ID]string{}}, counts: map[string]int{},
		stepped: map[string]time.Duration{}, faulty: map[string]*storetest.Faulty{},
	}
	for i := range n {
		s.members = append(s.members, fmt.Sprint("m", i+1))
	}
	mem := store.NewMemory()
	s.g = gridtest.New(t, gridtest.Config{Members: n, Durable: s.durable, Logger: stormLogger(),
		Change: func(name string, c *grid.Config) {
			s.configure(name, c, storetest.NewFaulty(mem, seed+uint64(len(name))))
		}})
	s.g.StartMembers(s.members...)
	s.formed = true
	return s
}

// configure sets the configuration of a member. Once the grid is formed its settings are agreed, and may
// have changed.
func (s *anchorStorm) configure(name string, c *grid.Config, f *storetest.Faulty) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faulty[name] = f
	c.Anchor, c.FirstLife, c.Partitions, c.Window, c.Backups, c.Voters = f, false, 11, s.window, s.backups, s.voters
	if s.formed {
		c.Window, c.Backups, c.Voters = 0, 0, 0
	}
	if s.zones > 0 {
		c.Zone = fmt.Sprint("zone-", int(name[len(name)-1])%s.zones)
	}
}

func (s *anchorStorm) setFaults(f storetest.Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.faulty {
		one.Set(f)
	}
}

func (s *anchorStorm) run() {
	load, stop := context.WithCancel(s.t.Context())
	var done sync.WaitGroup
	defer func() { stop(); done.Wait() }()
	var clients []*client.Client
	for i := range anchorClients {
		host := fmt.Sprint("c", i)
		c := s.dial(host)
		clients = append(clients, c)
		seed := s.rng.Uint64()
		done.Go(func() { s.use(load, c, host, rand.New(rand.NewPCG(seed, 1))) })
		done.Go(func() { s.useStripes(load, c, host, rand.New(rand.NewPCG(seed, 2))) })
	}
	for end := time.Now().Add(*anchorStormTime); time.Now().Before(end); {
		if did := s.step(); did != "" {
			s.counts[did]++
		}
		time.Sleep(time.Duration(s.rng.IntN(6000)) * time.Millisecond)
	}
	healed := time.Now()
	s.heal()
	ready := s.awaitAll(healed)
	first := s.firstIDs(clients, healed)
	s.t.Logf("%d members, durable %v, zones %d, window %v, %d voters: %v; %d IDs; all ready %v after the heal, the last "+
		"client's first ID %v",
		len(s.members), s.durable, s.zones, s.window, s.voters, s.counts, s.ids.n, ready.Round(time.Second),
		first.Round(time.Second))
}

func (s *anchorStorm) dial(host string) *client.Client {
	cfg := calls.With(client.Config{Dial: s.g.Network.Host(host).Dial, Security: s.g.Credentials(security.Admin)},
		calls.Parts{Clock: handles.NewExactClock()})
	for _, name := range s.members {
		cfg.Addrs = append(cfg.Addrs, name+":7948")
	}
	c, err := client.Dial(within(s.t, 2*time.Minute), cfg)
	ok(s.t, "dial", err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *anchorStorm) pick(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[s.rng.IntN(len(of))]
}

func (s *anchorStorm) stopped() []string {
	return slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return slices.Contains(s.g.Running(), m) })
}

// start starts members together, and returns the last error.
func (s *anchorStorm) start(limit time.Duration, names ...string) (err error) {
	var wg sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		wg.Go(func() { errs[i] = s.g.TryMember(within(s.t, limit), name) })
	}
	wg.Wait()
	for i, e := range errs {
		if e != nil {
			err = fmt.Errorf("%s: %w", names[i], e)
		}
	}
	return err
}

// post makes a call of an operator.
func (s *anchorStorm) post(did, path, body string) string {
	m := s.pick(s.g.Running())
	if m == "" {
		return ""
	}
	request(s.t, s.g, m, http.MethodPost, "localhost:7948", path, body)
	return did
}

// step does something to the grid, and returns what, "" for nothing.
func (s *anchorStorm) step() string {
	running := s.g.Running()
	switch s.rng.IntN(21) {
	case 0, 1:
		if m := s.pick(running); m != "" {
			s.g.Crash(m)
			return "crash"
		}
	case 2:
		return s.crashAll(running)
	case 3, 4, 5:
		if down := s.stopped(); len(down) > 0 {
			_ = s.start(15*time.Second, down...)
			return "start"
		}
	case 6, 7, 8, 9, 20:
		return s.cut()
	case 10:
		s.g.Network.Pause(s.pick(s.members))
		return "pause"
	case 11, 12:
		s.calm()
		return "calm"
	case 13:
		m, by := s.pick(s.members), time.Duration(s.rng.Int64N(int64(20*time.Minute)))-10*time.Minute
		s.g.StepClock(m, by)
		s.stepped[m] += by
		s.ahead = max(s.ahead, s.stepped[m])
		return "clock"
	case 14:
		s.g.Network.SetDelay(time.Duration(s.rng.IntN(250)) * time.Millisecond)
		return "delay"
	case 15:
		s.setFaults([]storetest.Faults{
			{Down: true}, {LoseRequest: .3, LoseAnswer: .3, Late: .1, Repeat: .2}, {Delay: 8 * time.Second, Late: .3},
			{LoseAnswer: .7},
		}[s.rng.IntN(4)])
		return "bad store"
	case 16:
		return s.post("settings", wire.PathSettings,
			fmt.Sprintf(`{"voters":%d,"backups":%d}`, []int{1, 3, 5, 7}[s.rng.IntN(4)], s.rng.IntN(3)))
	case 17:
		if s.durable {
			return s.post("window", wire.PathSettings,
				fmt.Sprintf(`{"window_ms":%d}`, s.window.Milliseconds()+int64(s.rng.IntN(9000))))
		}
	case 18:
		return s.post("take-anchor", wire.PathTake, `{}`)
	case 19:
		return s.depart(running)
	}
	return ""
}

func (s *anchorStorm) crashAll(running []string) string {
	if len(running) == 0 {
		return ""
	}
	s.g.Crash(running...)
	time.Sleep(time.Duration(s.rng.IntN(20_000)) * time.Millisecond)
	_ = s.start(20*time.Second, running...)
	return "crash of all"
}

// cut cuts connections: a few one-way, a member from all others, two halves, or two members from each
// other.
func (s *anchorStorm) cut() string {
	n, m := s.g.Network, s.pick(s.members)
	switch s.rng.IntN(4) {
	case 0:
		n.CutOneWay(s.pick(s.members), s.pick(s.members))
		n.CutOneWay(s.pick(s.members), s.pick(s.members))
		return "one-way cuts"
	case 1:
		for _, other := range s.members {
			if other != m {
				n.Cut(m, other)
			}
		}
		return "isolate"
	case 2:
		for i, a := range s.members {
			for j, b := range s.members {
				if i%2 != j%2 && i < j {
					n.Cut(a, b)
				}
			}
		}
		return "halves"
	}
	if other := s.pick(s.members); other != m {
		n.Cut(m, other)
	}
	return "cut"
}

// depart has a member removed or leave.
func (s *anchorStorm) depart(running []string) string {
	m := s.pick(running)
	if len(running) < 3 {
		return ""
	}
	if s.rng.IntN(2) == 0 {
		id := s.g.Member(m).Status().Answering
		return s.post("remove", wire.PathRemove, `{"member":"`+strings.Split(id, "-")[0]+`"}`)
	}
	if s.g.TryLeave(within(s.t, 8*time.Second), m) != nil {
		s.g.Network.Crash(m)
	}
	return "leave"
}

// calm ends cuts, pauses, delays and the faults of the store.
func (s *anchorStorm) calm() {
	s.g.Network.HealAll()
	for _, h := range s.members {
		s.g.Network.Resume(h)
	}
	s.g.Network.SetDelay(0)
	s.setFaults(storetest.Faults{})
}

// heal ends all faults, and puts the clocks right.
func (s *anchorStorm) heal() {
	s.calm()
	for m, by := range s.stepped {
		s.g.StepClock(m, -by)
	}
}

// splitFor is the time for which members are in several grids before the operator restarts some.
const splitFor = 20 * time.Second

// awaitAll waits until every member is ready, as an operator does: members that do not run are started,
// and those of other grids than the largest, which members without disks may have formed, are restarted
// after a while. It returns how long that took since the heal.
func (s *anchorStorm) awaitAll(healed time.Time) time.Duration {
	starting := map[string]chan error{}
	whole := healed // when all running members were in one grid last
	for {
		for m, started := range starting {
			select {
			case err := <-started:
				if delete(starting, m); err != nil {
					s.t.Logf("%v after the heal: start of %s: %v", time.Since(healed), m, err)
				}
			default:
			}
		}
		if others := s.others(); len(others) == 0 {
			whole = time.Now()
		} else if time.Since(whole) >= splitFor {
			s.g.Crash(others...)
			whole = time.Now()
		}
		for _, m := range s.stopped() {
			if starting[m] == nil {
				started := make(chan error, 1)
				starting[m] = started
				go func() { started <- s.start(anchorStartLimit, m) }()
			}
		}
		time.Sleep(time.Second)
		took := time.Since(healed)
		unready := s.unready()
		if len(unready) == 0 && len(s.g.Running()) == len(s.members) && len(s.grids()) == 1 {
			return took
		}
		limit := anchorReadyLimit
		if !slices.ContainsFunc(unready, func(text string) bool { return !strings.Contains(text, ": IDs begin at ") }) {
			limit += s.ahead // all run; the grid begins where a clock that was ahead had brought the anchor's limit
		}
		if took > limit {
			s.t.Errorf("not ready %v after the heal: %q; %d of %d members run, in %d grids", took, unready,
				len(s.g.Running()), len(s.members), len(s.grids()))
			return took
		}
	}
}

// unready returns the running members that are not ready, with the reason.
func (s *anchorStorm) unready() (out []string) {
	for _, m := range s.g.Running() {
		if st := s.g.Member(m).Status(); st.NotReady != "" {
			out = append(out, m+": "+st.NotReady)
		}
	}
	return out
}

// grids returns the running members by their grid. It leaves out those in none, which wait for the grid
// that the survivors form, and that grid may wait for the anchor.
func (s *anchorStorm) grids() map[string][]string {
	of := map[string][]string{}
	for _, m := range s.g.Running() {
		if id := s.g.Member(m).Status().Grid; strings.Trim(id, "0") != "" {
			of[id] = append(of[id], m)
		}
	}
	return of
}

// others returns the members of other grids than the largest.
func (s *anchorStorm) others() (out []string) {
	of, best := s.grids(), ""
	for id, members := range of {
		if best == "" || len(members) > len(of[best]) || len(members) == len(of[best]) && id < best {
			best = id
		}
	}
	for id, members := range of {
		if id != best {
			out = append(out, members...)
		}
	}
	return out
}

// firstIDs waits until every client has an ID, and returns when the last one had, since the heal.
func (s *anchorStorm) firstIDs(clients []*client.Client, healed time.Time) time.Duration {
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			ctx := within(s.t, anchorFirstLimit)
			for {
				h, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128})
				if err == nil && h.State() == sequencer.Detached {
					err = h.AttachLogicalNode(ctx)
				}
				if err == nil {
					var id sequencer.ID
					if id, err = h.Next(ctx); err == nil {
						s.ids.note("orders", fmt.Sprint("c", i, " at the end"), id)
						return
					}
				}
				if ctx.Err() != nil {
					s.t.Errorf("c%d has no ID %v after the heal: %v", i, anchorFirstLimit, err)
					return
				}
				time.Sleep(time.Second)
			}
		})
	}
	wg.Wait()
	return time.Since(healed)
}

// use takes IDs by handles of a few names, some of which detach when idle.
func (s *anchorStorm) use(load context.Context, c *client.Client, host string, rng *rand.Rand) {
	names := []string{"orders", "users", "few"}
	for load.Err() == nil {
		name := names[rng.IntN(len(names))]
		ctx, cancel := context.WithTimeout(load, 5*time.Second)
		h, err := c.CreateSequencer(ctx, name, sequencer.Config{Nodes: 128})
		if err == nil {
			if name == "users" {
				h.DetachWhenIdle(1500 * time.Millisecond)
			}
			buf := make([]sequencer.ID, 1+rng.IntN(40))
			for err == nil && rng.IntN(10) > 0 {
				var k int
				k, err = h.Fill(ctx, buf)
				s.ids.note(name, host, buf[:k]...)
			}
			switch {
			case err == nil && rng.IntN(40) == 0:
				_ = h.DetachLogicalNode(ctx)
			case err == nil && rng.IntN(150) == 0:
				_ = h.Destroy(ctx)
			case h.State() == sequencer.Detached:
				_ = h.AttachLogicalNode(ctx)
			}
		}
		cancel()
		time.Sleep(time.Duration(rng.IntN(900)) * time.Millisecond)
	}
}

// useStripes takes IDs by striped handles.
func (s *anchorStorm) useStripes(load context.Context, c *client.Client, host string, rng *rand.Rand) {
	for load.Err() == nil {
		ctx, cancel := context.WithTimeout(load, 8*time.Second)
		h, err := c.CreateStriped(ctx, "orders", sequencer.Config{Nodes: 128}, 2+rng.IntN(3))
		cancel()
		for i := 0; err == nil && i < 20 && load.Err() == nil; i++ {
			ctx, cancel = context.WithTimeout(load, 5*time.Second)
			var id sequencer.ID
			if id, err = h.Next(ctx); err == nil {
				s.ids.note("orders", host+" striped", id)
			}
			cancel()
			time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond)
		}
		if h != nil {
			ctx, cancel = context.WithTimeout(load, time.Duration(rng.IntN(3000))*time.Millisecond)
			_ = h.Leave(ctx)
			cancel()
		}
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
	}
}
