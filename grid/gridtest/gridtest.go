// Package gridtest runs a whole grid in one process: real members and clients on
// a network in memory, inside a testing/synctest bubble, where hours pass in
// seconds and every fault is the test's own doing.
//
//	func TestOrdersSurviveACrash(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			g := gridtest.Start(t, gridtest.Config{Members: 3})
//			orders, err := g.Client("web").CreateSequencer(t.Context(), "orders", sequencer.Config{})
//			...
//			g.Crash(g.OwnerOf("orders"))
//			id, err := orders.Next(t.Context())
//			...
//		})
//	}
//
// Members are called m1, m2 and so on. Time is the bubble's; the members' wall
// clocks show it shifted to 2026, and can be stepped. A paused host is cut from
// the network without a sign while its code runs on: goroutines cannot be
// stopped, so a test of a paused process also has to leave its handles alone.
package gridtest

import (
	"context"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"log/slog"
	"maps"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/security"
)

// Config describes the grid to start. Only Members is required.
type Config struct {
	Members int           // how many form the grid
	Durable bool          // each has a data directory, which survives Crash
	Delay   time.Duration // the network's delay from the start, see [Network.SetDelay]
	// Secured gives every member and client certificates, and the gossip a key; see
	// [Grid.Secrets]. Without it everything is in clear text.
	Secured bool
	// InClear leaves a grid in clear text that is about that, when all grids are secured.
	InClear bool
	// Change, if not nil, changes a member's configuration before each start.
	Change func(name string, c *grid.Config)
	// Logger receives all members' logs; nil = none.
	Logger *slog.Logger
}

// Grid is a running grid. Its methods fail the test if they cannot do their work.
type Grid struct {
	Network *Network
	tb      testing.TB
	cfg     Config
	secrets *Secrets // nil in clear text

	mu      sync.Mutex
	members map[string]*grid.Member
	clocks  map[string]*clock
	dirs    map[string]string
}

// settle is the time in the bubble for the last gossip timers to end.
const settle = 30 * time.Second

// startLimit bounds a start in the bubble's time.
const startLimit = 2 * time.Minute

// Start starts a grid and waits until it serves. It ends with the test.
func Start(tb testing.TB, cfg Config) *Grid {
	tb.Helper()
	g := New(tb, cfg)
	var names []string
	for i := range cfg.Members {
		names = append(names, fmt.Sprintf("m%d", i+1))
	}
	g.StartMembers(names...)
	return g
}

// New returns a grid without running members. It ends with the test.
func New(tb testing.TB, cfg Config) *Grid {
	tb.Helper()
	g := &Grid{
		Network: NewNetwork(), tb: tb, cfg: cfg,
		members: map[string]*grid.Member{}, clocks: map[string]*clock{}, dirs: map[string]string{},
	}
	g.Network.SetDelay(cfg.Delay)
	if cfg.Secured || secureAll && !cfg.InClear {
		g.secrets = newSecrets(tb)
	}
	tb.Cleanup(func() {
		for _, name := range g.Running() {
			_ = g.Member(name).Close()
		}
		time.Sleep(settle)
	})
	return g
}

// StartMembers starts members concurrently, and waits until they serve. A member that ran before
// starts again, a durable one with its earlier data directory. In a CPU profile, a member's samples
// have its name as the label "member".
func (g *Grid) StartMembers(names ...string) {
	g.tb.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		wg.Go(func() {
			pprof.Do(g.tb.Context(), pprof.Labels("member", name),
				func(ctx context.Context) { errs[i] = g.TryMember(ctx, name) })
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			g.tb.Fatalf("gridtest: start %s: %v", names[i], err)
		}
	}
}

// TryMember starts one member and waits until it serves or ctx ends.
func (g *Grid) TryMember(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	m, err := grid.Start(ctx, g.config(name))
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[name] = m
	return nil
}

// config returns a member's configuration.
func (g *Grid) config(name string) grid.Config {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clocks[name] == nil {
		g.clocks[name] = &clock{}
	}
	cfg := grid.Config{
		MemberName: name,
		GossipAddr: name + ":7946", RaftAddr: name + ":7947", APIAddr: name + ":7948",
		Expect: g.cfg.Members, Network: g.Network.Host(name), Clock: g.clocks[name],
		Partitions: partitionsOfAll, Security: &security.Config{Insecure: true},
	}
	if g.secrets != nil {
		cfg.Security = &security.Config{Dir: g.secrets.Issue(name, security.Member), Time: cfg.Clock.Now}
	}
	for i := range g.cfg.Members {
		cfg.Join = append(cfg.Join, fmt.Sprintf("m%d:7946", i+1))
	}
	if g.cfg.Logger != nil {
		cfg.Logger = g.cfg.Logger.With("host", name)
	}
	if g.cfg.Durable {
		if g.dirs[name] == "" {
			g.dirs[name] = g.tb.TempDir()
		}
		cfg.DataDir = g.dirs[name]
	}
	if g.cfg.Change != nil {
		g.cfg.Change(name, &cfg)
	}
	return cfg
}

// Member returns a running member.
func (g *Grid) Member(name string) *grid.Member {
	g.tb.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.members[name]
	if m == nil {
		g.tb.Fatalf("gridtest: member %q does not run", name)
	}
	return m
}

// Running returns the running members' names, ascending.
func (g *Grid) Running() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return sortedKeys(g.members)
}

// Client returns a new thin client on its own host, with a holder's certificate if the grid is
// secured. It ends with the test.
func (g *Grid) Client(host string) *client.Client {
	g.tb.Helper()
	role := security.Holder
	if secureAll { // tests without roles destroy, too
		role = security.Admin
	}
	c, err := g.TryClient(host, g.Credentials(role))
	if err != nil {
		g.tb.Fatalf("gridtest: client on %s: %v", host, err)
	}
	return c
}

// TryClient returns a new thin client on its own host with some credentials, or none, and gives up
// after two minutes. It ends with the test.
func (g *Grid) TryClient(host string, conf *security.Config) (*client.Client, error) {
	g.tb.Helper()
	cfg := calls.With(client.Config{Dial: g.Network.Host(host).Dial, Security: conf},
		calls.Parts{Clock: handles.NewExactClock()})
	for _, name := range g.Running() {
		cfg.Addrs = append(cfg.Addrs, name+":7948")
	}
	ctx, cancel := context.WithTimeout(g.tb.Context(), startLimit)
	defer cancel()
	c, err := client.Dial(ctx, cfg)
	if err == nil {
		g.tb.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// Secrets returns a secured grid's authorities, nil for any other grid.
func (g *Grid) Secrets() *Secrets { return g.secrets }

// Credentials returns credentials for a process in a role, limited to some sequencer names if any
// are given; nil for a grid in clear text.
func (g *Grid) Credentials(role security.Role, names ...security.Pattern) *security.Config {
	g.tb.Helper()
	if g.secrets == nil {
		return nil
	}
	process := fmt.Sprint(role, " ", names)
	return &security.Config{Dir: g.secrets.Issue(process, role, names...), Role: role, Time: Now}
}

// Load loads Credentials for connections that the test makes; nil for a grid in clear text.
func (g *Grid) Load(role security.Role, names ...security.Pattern) *security.Credentials {
	g.tb.Helper()
	conf := g.Credentials(role, names...)
	if conf == nil {
		return nil
	}
	creds, err := security.Load(*conf, role)
	if err != nil {
		g.tb.Fatal(err)
	}
	return creds
}

// secureAll secures all grids, for this package's tests.
var secureAll bool

// partitionsOfAll is the number of partitions in all grids, unless a test sets one: fewer than the
// default in [grid.Config], since they take most of the processor time of members in a bubble. 0 =
// that default, for this package's long tests.
var partitionsOfAll = 31

// Crash ends the members' hosts immediately and simultaneously: their connections break, and their
// processes send no message. A process's memory is lost; its handles are closed.
func (g *Grid) Crash(names ...string) {
	g.tb.Helper()
	var crashed []*grid.Member
	for _, name := range names {
		crashed = append(crashed, g.Member(name))
	}
	for _, name := range names {
		g.Network.Crash(name)
		g.mu.Lock()
		delete(g.members, name)
		g.mu.Unlock()
	}
	for _, m := range crashed { // this takes time, and others continue meanwhile
		_ = m.Close()
	}
}

// Leave has a member leave the grid in order.
func (g *Grid) Leave(name string) {
	g.tb.Helper()
	ctx, cancel := context.WithTimeout(g.tb.Context(), startLimit)
	defer cancel()
	if err := g.TryLeave(ctx, name); err != nil {
		g.tb.Fatalf("gridtest: %s leaves: %v", name, err)
	}
}

// TryLeave has a member leave the grid. With an error, too, it runs no more.
func (g *Grid) TryLeave(ctx context.Context, name string) error {
	g.tb.Helper()
	err := g.Member(name).Leave(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.members, name)
	return err
}

// OwnerOf returns the running member that owns a sequencer's partition, according to the first running
// member.
func (g *Grid) OwnerOf(sequencer string) string {
	g.tb.Helper()
	for _, name := range g.Running() {
		return g.named(g.Member(name).Status().OwnerOf(sequencer))
	}
	g.tb.Fatal("gridtest: no member runs")
	return ""
}

// Leader returns the running member that leads, according to the first running member; "" if none
// does.
func (g *Grid) Leader() string {
	g.tb.Helper()
	for _, name := range g.Running() {
		return g.named(g.Member(name).Status().Leader)
	}
	return ""
}

// named returns the running member's name for an incarnation.
func (g *Grid) named(incarnation string) string {
	for _, name := range g.Running() {
		if g.Member(name).Stats().Incarnation == incarnation {
			return name
		}
	}
	return ""
}

// StepClock steps a member's wall clock permanently. The bubble's time continues
// unchanged.
func (g *Grid) StepClock(name string, by time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clocks[name] == nil {
		g.clocks[name] = &clock{}
	}
	g.clocks[name].step.Add(int64(by))
}

// clockShift moves the bubble's year 2000 past every preset epoch.
const clockShift = 9700 * 24 * time.Hour

// clock is a member's wall clock.
type clock struct{ step atomic.Int64 }

func (c *clock) Now() time.Time {
	return time.Now().Add(clockShift + time.Duration(c.step.Load()))
}

// Now returns the time on a wall clock that was not stepped.
func Now() time.Time { return (&clock{}).Now() }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
