package gridtest_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// climate is the kind of grid in a storm.
type climate struct {
	members, backups, partitions int
	voters, zones                int // no zones: 0
	window                       time.Duration
	durable                      bool
}

func newClimate(rng *rand.Rand) climate {
	return climate{
		members: 3 + rng.IntN(5), backups: rng.IntN(4), partitions: 7 + rng.IntN(25),
		window: time.Duration(5000+rng.IntN(15_001)) * time.Millisecond, durable: rng.IntN(3) > 0, voters: 1 + 2*rng.IntN(4),
		zones: rng.IntN(4),
	}
}

// change makes a member's configuration that of the climate.
func (c climate) change(name string, cfg *grid.Config) {
	joinersExpectNothing(c.members)(name, cfg)
	cfg.Partitions, cfg.Window, cfg.Backups, cfg.FirstLife = c.partitions, c.window, c.backups, true
	cfg.Voters = c.voters
	if c.zones > 0 {
		cfg.Zone = fmt.Sprint("zone-", int(name[len(name)-1])%c.zones)
	}
	if c.backups == 0 {
		cfg.Backups = grid.NoBackups
	}
}

// storm is a grid to which everything happens that can happen. The order of its
// faults follows from the seed; what they meet does not, quite.
type storm struct {
	climate
	t     *testing.T
	g     *gridtest.Grid
	ids   *checker
	rng   *rand.Rand
	names []string
	load  *load
	// memberIDs has the members that have run, by name.
	memberIDs map[string]roster.MemberID

	mu     sync.Mutex                // guards what follows
	hosts  map[string]string         // where members run, by name
	moving string                    // a member that the others do not know at its new host yet
	gone   map[string]bool           // extra members that left, or never came
	client map[string]*client.Client // by host; one without has crashed
	counts map[string]int
}

const (
	stormExtras     = 2 // members that join later
	stormClients    = 8
	stormGenerators = 4 // over HTTP
)

// stormErrors are the errors that a call may return during faults.
var stormErrors = []error{
	sequencer.ErrDetached, sequencer.ErrAttached, sequencer.ErrDestroyed, sequencer.ErrNotFound, sequencer.ErrNoFreeNode,
	sequencer.ErrGrantExpired, sequencer.ErrUnavailable, sequencer.ErrClosed,
}

func newStorm(t *testing.T, seed uint64) *storm {
	rng := rand.New(rand.NewPCG(seed, 0))
	ids := newChecker(t)
	s := &storm{
		t: t, climate: newClimate(rng), ids: ids, rng: rng, load: ids.load(0),
		names: []string{"orders", "users", "few", stormChanging},
		hosts: map[string]string{}, gone: map[string]bool{}, client: map[string]*client.Client{}, counts: map[string]int{},
		memberIDs: map[string]roster.MemberID{},
	}
	for i, name := range s.allNames() {
		s.hosts[name], s.gone[name] = name, i >= s.members
	}
	t.Logf("%+v", s.climate)
	s.g = gridtest.Start(t, gridtest.Config{Members: s.members, Durable: s.durable, Change: s.configure,
		Logger: stormLogger()})
	for i := range stormClients {
		s.dial(fmt.Sprint("c", i))
	}
	for _, name := range s.g.Running() {
		s.employ(name)
	}
	for i := range stormGenerators {
		seed := s.rng.Uint64()
		s.load.done.Go(func() { s.generate(fmt.Sprint("g", i), rand.New(rand.NewPCG(seed, 0))) })
	}
	return s
}

// configure sets the configuration of every member. Memory-only members that restart while
// they are cut off from the grid could form another one, which is not excluded; so they
// expect no members.
func (s *storm) configure(name string, cfg *grid.Config) {
	s.change(name, cfg)
	if s.g != nil { // the settings may have been changed
		cfg.Window, cfg.Backups, cfg.Voters = 0, 0, 0
		if !s.durable {
			cfg.Expect = 0
		}
	}
	for _, other := range s.allNames() {
		cfg.Join = append(cfg.Join, elsewhere(other)+":7946")
	}
	s.mu.Lock()
	host := s.hosts[name]
	s.mu.Unlock()
	if host != name {
		cfg.GossipAddr, cfg.RaftAddr, cfg.APIAddr = host+":7946", host+":7947", host+":7948"
		cfg.Network = s.g.Network.Host(host)
	}
}

// allNames returns all members that may exist.
func (s *storm) allNames() (out []string) {
	for i := range s.members + stormExtras {
		out = append(out, fmt.Sprint("m", i+1))
	}
	return out
}

// elsewhere is the other host that a member may be started on.
func elsewhere(member string) string { return member + "-b" }

// dial puts a client on a host, which keeps taking IDs until it is closed, if
// a member answers it.
func (s *storm) dial(host string) {
	cfg := calls.With(client.Config{Dial: s.g.Network.Host(host).Dial, Security: s.g.Credentials(security.Admin)},
		calls.Parts{Clock: handles.NewExactClock()})
	for _, name := range s.allNames() {
		cfg.Addrs = append(cfg.Addrs, name+":7948", elsewhere(name)+":7948")
	}
	c, err := client.Dial(within(s.t, startLimit), cfg)
	if err != nil {
		s.note("dial in vain", host)
		return
	}
	s.t.Cleanup(func() { _ = c.Close() })
	s.mu.Lock()
	s.client[host] = c
	s.mu.Unlock()
	seed := s.rng.Uint64()
	s.load.done.Go(func() { s.use(host, c, rand.New(rand.NewPCG(seed, 0))) })
}

// employ has a member take IDs until it is closed.
func (s *storm) employ(name string) {
	m, seed := s.g.Member(name), s.rng.Uint64()
	s.load.done.Go(func() { s.use(name, m, rand.New(rand.NewPCG(seed, 0))) })
}

// use takes IDs by one client or member until it is closed.
func (s *storm) use(host string, c creator, rng *rand.Rand) {
	callers := map[string]*caller{}
	for _, name := range s.names {
		callers[name] = s.ids.caller(host)
	}
	for s.load.ctx.Err() == nil {
		name := s.names[rng.IntN(len(s.names))]
		ctx, cancel := context.WithTimeout(s.load.ctx, 5*time.Second)
		handle, err := c.CreateSequencer(ctx, name, s.define(name, rng))
		if err == nil {
			_, err = callers[name].next(ctx, handle)
		}
		for err == nil && rng.IntN(10) > 0 {
			_, err = callers[name].next(ctx, handle)
		}
		switch {
		case err == nil && rng.IntN(40) == 0:
			err = handle.DetachLogicalNode(ctx)
		case err == nil && rng.IntN(400) == 0, err == nil && name == stormChanging && rng.IntN(20) == 0:
			err = handle.Destroy(ctx)
		case matches(err, []error{sequencer.ErrDetached}):
			err = handle.AttachLogicalNode(ctx)
		}
		cancel()
		if matches(err, []error{sequencer.ErrClosed}) {
			return
		}
		conflict := name == stormChanging && matches(err, []error{sequencer.ErrConflict})
		if err != nil && !conflict && !matches(err, stormErrors) {
			s.t.Errorf("%s: %s: %v", host, name, err)
		}
		time.Sleep(time.Duration(rng.IntN(800)) * time.Millisecond)
	}
}

// stormChanging is a name that is destroyed often, and created again with other epochs and layouts.
const stormChanging = "changing"

// define returns a definition of a name. A memory-only grid may lose all definitions in a storm; other
// ones for its name could repeat IDs then.
func (s *storm) define(name string, rng *rand.Rand) sequencer.Config {
	if name != stormChanging || !s.durable {
		return sequencer.Config{Nodes: 128}
	}
	return sequencer.Config{
		Layout: []sequencer.Layout{{}, sequencer.Twitter()}[rng.IntN(2)],
		Epoch:  epoch.At(epoch.Default.Time().Add(-time.Duration(rng.IntN(4)) * 20 * time.Second)),
	}
}

// A failure names its seed; give it, and any length, to see the faults again:
//
//	go test ./grid/gridtest -run TestStorm -seed 1 -storm 1h
var (
	stormSeed = flag.Uint64("seed", 0, "seed of the faults of TestStorm; 0 = random")
	stormTime = flag.Duration("storm", 0, "duration of the faults of TestStorm; 0 = the usual one")
	stormLog  = flag.Bool("stormlog", false, "show the faults of TestStorm and the logs of its members")
)

func TestStorm(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
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
		for end := time.Now().Add(cmp.Or(*stormTime, stormDefault())); time.Now().Before(end); {
			for range 1 + s.rng.IntN(2) {
				s.step()
			}
			time.Sleep(time.Duration(s.rng.IntN(8000)) * time.Millisecond)
		}
		healed := time.Now()
		s.heal()
		s.first(healed.Add(firstLimit + s.window))
		t.Logf("%v; %d IDs; every caller had one %v after the heal", s.faults(), s.ids.count(), time.Since(healed))
		full := s.awaitFull(healed.Add(fullLimit))
		time.Sleep(s.window) // renewals show everything
		n := s.checkNodes()
		s.load.stop()
		t.Logf("at full number %v after the heal; %d attached handles; %d IDs", full.Sub(healed), n, s.ids.count())
	})
}

// pick returns one of several, "" of none.
func (s *storm) pick(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[s.rng.IntN(len(of))]
}

// stopped returns the members that do not run.
func (s *storm) stopped() []string {
	return slices.DeleteFunc(s.allNames(), func(name string) bool { return slices.Contains(s.g.Running(), name) })
}
