package grid_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/raftlogtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// diskGrid is three members with backups that issue IDs all the time.
type diskGrid struct {
	t       *testing.T
	ctx     context.Context
	cfgs    []grid.Config
	members []*grid.Member
	logs    []*errorLog
	lost    []uint64 // of each partition, before any disk failed

	stop    context.CancelFunc
	load    sync.WaitGroup
	mu      sync.Mutex
	handles []*sequencer.Sequencer
	ids     []sequencer.ID
}

// errorLog keeps a member's records at level ERROR.
type errorLog struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

// Enabled implements slog.Handler.
func (l *errorLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Level >= slog.LevelError {
		l.lines = append(l.lines, line)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *errorLog) WithGroup(string) slog.Handler { return l }

func (l *errorLog) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	})
}

const diskNames = 12 // sequencers

// diskWindow is far longer than a busy machine takes to replace an owner: no handle may wait for that.
var diskWindow = map[bool]time.Duration{false: 10 * time.Second, true: 30 * time.Second}[raceDetector]

// startDiskGrid starts three members; dirs are their data directories, "" for one
// of the test's.
func startDiskGrid(t *testing.T, dirs ...string) *diskGrid {
	g := &diskGrid{t: t, ctx: testContext(t), cfgs: make([]grid.Config, 3), logs: []*errorLog{{}, {}, {}}}
	g.members = startGrid(t, 3, func(i int, c *grid.Config) {
		c.Window, c.Logger = diskWindow, slog.New(g.logs[i])
		c.Name = t.Name() // a port that another test's grid has left is found by its members
		if i < len(dirs) && dirs[i] != "" {
			c.DataDir = dirs[i]
		}
		g.cfgs[i] = *c
	})
	for _, m := range g.members {
		g.await(m, "in sync", func() bool { return m.Ready() && m.Status().Copies == 1 })
	}
	for _, p := range g.members[0].Status().Partitions {
		g.lost = append(g.lost, p.LostTerm)
	}
	ctx, stop := context.WithCancel(g.ctx)
	g.stop = stop
	t.Cleanup(g.end)
	for _, m := range g.members {
		for i := range diskNames {
			s, err := m.CreateSequencer(g.ctx, fmt.Sprintf("s%d", i), sequencer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			g.handles = append(g.handles, s)
			g.load.Go(func() { g.issue(ctx, s) })
		}
	}
	return g
}

// issue takes IDs until ctx ends.
func (g *diskGrid) issue(ctx context.Context, s *sequencer.Sequencer) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		id, err := s.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				g.t.Errorf("%s: %v", s.Name(), err)
			}
			return
		}
		if s.Name() == "s0" {
			g.mu.Lock()
			g.ids = append(g.ids, id)
			g.mu.Unlock()
		}
		<-ticker.C
	}
}

// end stops the load, of which no ID may have come twice.
func (g *diskGrid) end() {
	g.stop()
	g.load.Wait()
	slices.Sort(g.ids)
	n := len(g.ids)
	if g.ids = slices.Compact(g.ids); n == 0 || len(g.ids) != n {
		g.t.Errorf("%d IDs of one sequencer, %d distinct", n, len(g.ids))
	}
}

// await waits until a member sees something to be so.
func (g *diskGrid) await(m *grid.Member, what string, so func() bool) {
	g.t.Helper()
	for {
		changed := m.Changed()
		if so() {
			return
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond): // not everything is a change of the roster
		case <-g.ctx.Done():
			g.t.Fatalf("never %s: %+v", what, m.Status().NotReady)
		}
	}
}

// roles returns the index of the leader, and those of the two other voters. They are of one
// moment at which all members name the same leader: a busy machine may be electing.
func (g *diskGrid) roles() (leader int, others []int) {
	g.await(g.members[0], "one leader", func() bool {
		leader, others = -1, nil
		named := map[string]bool{}
		for i, m := range g.members {
			s := m.Status()
			named[s.Leader] = true
			if s.Leader == s.Answering {
				leader = i
			} else {
				others = append(others, i)
			}
		}
		return leader >= 0 && len(named) == 1
	})
	return leader, others
}

// checkReplaced checks the promises after the failure of a member's disk: the others, and
// the member's own handles, continue without a loss or a wait, and the member reports why it
// is not ready.
func (g *diskGrid) checkReplaced(victim int) {
	t, m := g.t, g.members[victim]
	t.Helper()
	g.await(m, "not ready", func() bool { return !m.Ready() })
	dir := g.cfgs[victim].DataDir
	if reason := m.Status().NotReady; !strings.Contains(reason, dir) || !strings.Contains(reason, raftlog.DiskAdvice) {
		t.Errorf("it is not ready because: %s", reason)
	}
	self := m.Status().Answering
	owned := false
	for i := range diskNames {
		owned = owned || m.Status().OwnerOf(fmt.Sprintf("s%d", i)) == self // by its last roster
	}
	if !owned {
		t.Log("it owned nothing that IDs are issued of")
	}
	for i, o := range g.members {
		if i == victim {
			continue
		}
		g.await(o, "without the failed member", func() bool {
			s := o.Status()
			return !slices.ContainsFunc(s.Members, func(i grid.MemberInfo) bool { return i.Incarnation == self }) &&
				o.Ready() && s.Copies == 1
		})
		for _, p := range o.Status().Partitions {
			if p.LostTerm != g.lost[p.ID] {
				t.Errorf("partition %d was lost", p.ID)
			}
		}
	}
	// Every grant of before ends meanwhile.
	select {
	case <-time.After(diskWindow + time.Second):
	case <-g.ctx.Done():
	}
	for i, s := range g.handles {
		if st := s.Stats(); st.GrantWaits > 0 || st.WaitingNow > 0 {
			t.Errorf("handle %d of member %d waited %d times, %d wait now", i%diskNames, i/diskNames, st.GrantWaits,
				st.WaitingNow)
		}
	}
	if !g.logs[victim].has("disk failed", dir, raftlog.DiskAdvice) {
		t.Errorf("the log does not say it: %q", g.logs[victim].lines)
	}
	if n := len(m.Status().Sequencers); n > 0 {
		t.Errorf("it still serves %d sequencers", n)
	}
	refused := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(g.ctx, within)
		defer cancel()
		c, err := client.Dial(ctx, client.Config{Addrs: []string{m.Addrs().API}})
		if err == nil {
			return errors.Join(errors.New("it still tells who owns what"), c.Close())
		}
		if !strings.Contains(err.Error(), raftlog.DiskAdvice) {
			return err
		}
		return nil
	}
	if refused(time.Second) != nil { // a busy machine may take longer to answer
		if err := refused(10 * time.Second); err != nil {
			t.Error(err)
		}
	}
	if m.Raft().State() != raft.Shutdown {
		t.Errorf("its agreement is %v", m.Raft().State())
	}
}

// restart starts a member again on the same directory, which works now.
func (g *diskGrid) restart(victim int) {
	g.t.Helper()
	began := time.Now()
	if err := g.members[victim].Close(); err != nil {
		g.t.Error(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		g.t.Errorf("Close took %v", took)
	}
	m, err := grid.Start(g.ctx, g.cfgs[victim])
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = m.Close() })
	g.await(m, "ready again", func() bool { return m.Ready() && len(m.Members()) == 3 })
	g.await(m, "three voters again", func() bool {
		n := 0
		for _, i := range m.Members() {
			if i.Voter {
				n++
			}
		}
		return n == 3
	})
	for i, o := range g.members {
		if s := o.Status(); i != victim && s.Leader == s.Answering && len(o.Leavers()) > 0 {
			g.t.Errorf("the leader still remembers that %v left", o.Leavers())
		}
	}
}

// Two kinds of failures are tried unless all are asked for, which takes a minute:
//
//	go test ./grid -run TestDiskOfAVoterFails -disks
var allDisks = flag.Bool("disks", false, "have every kind of write fail, at the leader and at a follower")

func TestDiskOfAVoterFails(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   string
		leader bool
		rare   bool
	}{
		{"append at the leader", raftlogtest.Append, true, false},
		{"append at a follower", raftlogtest.Append, false, true},
		{"term at the leader", raftlogtest.KeepTerm, true, true},
		{"term at a follower", raftlogtest.KeepTerm, false, false},
		{"compaction at the leader", raftlogtest.Truncate, true, true},
		{"compaction at a follower", raftlogtest.Truncate, false, true},
	} {
		if c.rare && !*allDisks {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startDiskGrid(t)
			leader, others := g.roles()
			victim := leader
			if !c.leader {
				victim = others[0]
			}
			tried := raftlogtest.FailWrites(g.members[victim].Disk(), c.kind)
			switch c.kind {
			case raftlogtest.KeepTerm:
				transfer(g.members[leader], g.members[others[1]])
			case raftlogtest.Truncate:
				compact(t, g.members[victim])
			}
			raftlogtest.AwaitBroken(t, g.members[victim].Disk())
			g.checkReplaced(victim)
			if n := tried.Load(); n != 1 {
				t.Errorf("%d writes after the failure", n-1)
			}
			g.end()
			g.restart(victim)
		})
	}
}

// transfer passes the lead to another member, which begins a term.
func transfer(from, to *grid.Member) {
	for _, i := range from.Members() {
		if i.Incarnation == to.Status().Answering {
			id := i.ID()
			from.Raft().LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(id+"@"+i.Raft))
		}
	}
}

// compact makes a member drop entries that a snapshot holds.
func compact(t *testing.T, m *grid.Member) {
	conf := m.Raft().ReloadableConfig()
	conf.TrailingLogs = 1
	if err := m.Raft().ReloadConfig(conf); err != nil {
		t.Fatal(err)
	}
	m.Raft().Snapshot() // gives no answer
}

// TestFailedDiskLeaves: Leave gives the nodes back through the others.
func TestFailedDiskLeaves(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	g := startDiskGrid(t)
	victim, _ := g.roles()
	raftlogtest.FailWrites(g.members[victim].Disk(), raftlogtest.Append)
	raftlogtest.AwaitBroken(t, g.members[victim].Disk())
	g.end()
	ctx, cancel := context.WithTimeout(g.ctx, time.Minute) // a busy machine elects late
	defer cancel()
	if err := g.members[victim].Leave(ctx); err != nil {
		t.Error(err)
	}
}

// TestDiskOfTheLastFails: no member can take over. Grants can be used, the member reports
// why it is not ready, and it ends within seconds.
func TestDiskOfTheLastFails(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	for name, expect := range map[string]int{"no expected members": 0, "last": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			log := &errorLog{}
			cfg := grid.Config{
				GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0", Expect: expect,
				DataDir: t.TempDir(), Logger: slog.New(log), Window: diskWindow,
			}
			m, err := grid.Start(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s, err := m.CreateSequencer(ctx, "orders", sequencer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			raftlogtest.FailWrites(m.Disk(), raftlogtest.Append)
			raftlogtest.AwaitBroken(t, m.Disk())
			for ctx.Err() == nil && !errors.Is(err, sequencer.ErrGrantExpired) { // until the ceiling
				short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				_, err = s.Next(short)
				cancel()
			}
			if !errors.Is(err, sequencer.ErrGrantExpired) {
				t.Errorf("at the ceiling: %v", err)
			}
			if reason := m.Status().NotReady; m.Ready() || !strings.Contains(reason, cfg.DataDir) {
				t.Errorf("ready: %v, %s", m.Ready(), reason)
			}
			if !log.has("no member can take over", raftlog.DiskAdvice) {
				t.Errorf("the log does not say it: %q", log.lines)
			}
			began := time.Now()
			if err := m.Leave(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("Leave took %v", took)
			}
			if m, err = grid.Start(ctx, cfg); err != nil { // the disk works again
				t.Fatal(err)
			}
			_ = m.Close()
		})
	}
}
