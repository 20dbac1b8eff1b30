package gridtest_test

import (
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/long"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// More lives than in an ordinary run; -seed gives the same moments and clocks again:
//
//	go test ./grid/gridtest -run TestLives -lives 20
var lives = flag.Int("lives", 2, "how many lives the grids of TestLives have")

// firstIDMax is the window and 5 s.
const firstIDMax = 20 * time.Second

// TestLives: a durable grid loses all members together, at any moment, repeatedly, and
// starts again with clocks that are up to a day off, at the same addresses or at others. No
// ID is ever issued twice, and the first one is issued in time.
func TestLives(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	for _, c := range []struct {
		members int
		moves   bool
	}{{1, false}, {1, true}, {3, false}, {3, true}} {
		t.Run(fmt.Sprintf("%d members, other addresses %v", c.members, c.moves), func(t *testing.T) {
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
				live(newReborn(t, c.members, c.moves, rand.New(rand.NewPCG(seed, 0))))
			})
		})
	}
}

// reborn is a grid with several lives.
type reborn struct {
	t     *testing.T
	g     *gridtest.Grid
	rng   *rand.Rand
	ids   *checker
	load  *load
	moves bool
	hosts map[string]string // by member, in this life
	names []string
}

func newReborn(t *testing.T, members int, moves bool, rng *rand.Rand) *reborn {
	r := &reborn{t: t, rng: rng, moves: moves, ids: newChecker(t), hosts: map[string]string{}}
	r.load = r.ids.load(150 * time.Millisecond)
	for i := range members {
		r.names = append(r.names, fmt.Sprint("m", i+1))
		r.hosts[r.names[i]] = r.names[i]
	}
	var network *gridtest.Network
	r.g = gridtest.Start(t, gridtest.Config{Members: members, Durable: true, Change: func(name string, c *grid.Config) {
		c.Partitions = *somePartitions
		if network == nil || !moves {
			return
		}
		host := r.hosts[name]
		c.GossipAddr, c.RaftAddr, c.APIAddr, c.Network = host+":7946", host+":7947", host+":7948", network.Host(host)
		c.Join = nil
		for _, other := range r.names {
			c.Join = append(c.Join, r.hosts[other]+":7946")
		}
	}})
	network = r.g.Network
	return r
}

// dial returns a client that knows all addresses the members may ever have.
func (r *reborn) dial(host string) *client.Client {
	cfg := calls.With(client.Config{Dial: r.g.Network.Host(host).Dial, Security: r.g.Credentials(security.Admin)},
		calls.Parts{Clock: handles.NewExactClock()})
	for _, name := range r.names {
		cfg.Addrs = append(cfg.Addrs, name+":7948", name+"-b:7948")
	}
	c, err := client.Dial(within(r.t, time.Minute), cfg)
	ok(r.t, "dial", err)
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// live puts the grid through its lives, under holders that live through them all.
func live(r *reborn) {
	for i := range 2 {
		host := fmt.Sprint("c", i)
		r.load.run(host, create(r.t, r.dial(host), "orders", 0))
	}
	r.t.Cleanup(r.load.stop)
	var firsts []time.Duration
	for n := range *lives {
		for _, name := range r.g.Running() {
			from := r.g.Member(name)
			r.load.run(fmt.Sprint(name, " in life ", n), create(r.t, from, "orders", 0), sequencer.ErrClosed)
		}
		time.Sleep(time.Duration(r.rng.Int64N(int64(25 * time.Second))))
		r.end()
		began := time.Now()
		r.g.StartMembers(r.names...)
		label := fmt.Sprint("life ", n)
		r.ids.caller(label).must(create(r.t, r.dial(label), label, 0), 1)
		firsts = append(firsts, time.Since(began))
	}
	time.Sleep(firstIDMax)
	before := r.ids.count()
	time.Sleep(5 * time.Second)
	after := r.ids.count()
	r.load.stop()
	r.t.Logf("%d lives; first ID after %v at the longest; %d IDs", len(firsts), slices.Max(firsts), after)
	if slices.Max(firsts) > firstIDMax {
		r.t.Errorf("first IDs came after %v, want at most %v", firsts, firstIDMax)
	}
	if after < before+20 {
		r.t.Errorf("those who lived through it all made %d IDs in five seconds", after-before)
	}
}

// end crashes all members together, moves those that get other addresses, and steps the
// clocks.
func (r *reborn) end() {
	for _, name := range r.names {
		r.g.Network.Crash(r.hosts[name])
	}
	for _, name := range r.names {
		r.g.Crash(name)
		if r.moves && r.hosts[name] == name {
			r.hosts[name] = name + "-b"
		} else {
			r.hosts[name] = name
		}
		r.g.StepClock(name, time.Duration(r.rng.Int64N(int64(48*time.Hour)))-24*time.Hour)
	}
	time.Sleep(time.Duration(r.rng.Int64N(int64(20 * time.Second))))
}
