//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/sequencer"
)

// These tests run the command as its users do: as processes, over sockets and
// with signals. The processes are this test binary, told by its environment to
// be the command, so that nothing has to be built first.

// runsCommand is the environment variable that makes the test binary the command.
const runsCommand = "TEST_BINARY_IS_THE_COMMAND"

// ownCgroup is the environment variable that names the control group of the command.
const ownCgroup = "TEST_BINARY_IN_CGROUP"

func TestMain(m *testing.M) {
	if os.Getenv(runsCommand) == "" {
		flag.Parse()
		long.Parallel(8)
		remove, err := secureProcesses()
		if err != nil {
			log.Fatal(err)
		}
		status := m.Run()
		remove()
		os.Exit(status)
	}
	if group := os.Getenv(ownCgroup); group != "" {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			log.Fatal(err)
		}
	}
	blockAtCrashPoint()
	go func() {
		// Standard input ends when the test does, however it ends.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(97)
	}()
	main()
}

// patience bounds every wait for something that should happen soon; the machine
// may be slow and the race detector on.
const patience = 40 * time.Second

// process is the command as a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr lockedBuffer
	ended  chan struct{} // closed when it has ended and stdout was read to its end
	err    error         // of Wait; read it after ended
}

// start starts the command; each gets stdout to read to its end. The process is
// killed at the end of the test if it still runs.
func start(t *testing.T, read func(io.Reader), args ...string) *process {
	t.Helper()
	return startIn(t, nil, read, args...)
}

// startIn is start with further environment variables.
func startIn(t *testing.T, env []string, read func(io.Reader), args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), ended: make(chan struct{})}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SNOWGRID_") || *secure && strings.HasPrefix(kv, securityDirVar+"=") {
			p.cmd.Env = append(p.cmd.Env, kv)
		}
	}
	p.cmd.Env = append(append(p.cmd.Env, runsCommand+"=1"), env...)
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		read(stdout)
		_, _ = io.Copy(io.Discard, stdout)
		p.err = p.cmd.Wait()
		_ = stdin.Close()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("%v: %v; stderr:\n%s", args, p.err, tail(p.stderr.String()))
		}
	})
	return p
}

// signal sends a signal to a process that may have ended.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("signal %v: %v", s, err)
	}
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// exit waits for the end and returns the exit status, -1 after a signal.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("%v has not ended after %v; stderr:\n%s", p.cmd.Args[1:], patience, tail(p.stderr.String()))
		return -1
	}
}

// command runs the command as a process to its end.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out bytes.Buffer
	p := start(t, func(r io.Reader) { _, _ = io.Copy(&out, r) }, args...)
	status = p.exit()
	return status, out.String(), p.stderr.String()
}

// lockedBuffer is written by a process and read by the test meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// tail is the end of a text.
func tail(s string) string { return s[max(0, len(s)-3000):] }

// await waits until holds does.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		pause()
	}
}

// pause waits between two polls of another process.
func pause() { <-time.After(50 * time.Millisecond) }

// agent is a member as a process.
type agent struct {
	*process
	api string
	dir string
}

// startAgent starts an agent; it serves when serving has returned.
func startAgent(t *testing.T, gossip string, more ...string) *agent {
	t.Helper()
	a := &agent{dir: t.TempDir()}
	served := make(chan string, 1)
	args := append([]string{"agent", "--gossip-addr", gossip, "--raft-addr", "127.0.0.1:0", "--api-addr", "127.0.0.1:0",
		"--data-dir", a.dir}, more...)
	a.process = start(t, func(r io.Reader) {
		line, _ := bufio.NewReader(r).ReadString('\n')
		served <- line
	}, args...)
	a.awaitAPI(served)
	return a
}

// awaitAPI reads the line that an agent prints when it serves.
func (a *agent) awaitAPI(served <-chan string) {
	a.t.Helper()
	select {
	case line := <-served:
		_, rest, found := strings.Cut(line, "api ")
		api, _, _ := strings.Cut(rest, ",")
		if !found {
			a.t.Fatalf("an agent says %q; stderr:\n%s", line, tail(a.stderr.String()))
		}
		a.api = api
	case <-time.After(patience):
		a.t.Fatalf("an agent does not serve after %v; stderr:\n%s", patience, tail(a.stderr.String()))
	}
}

// startAgents starts three agents that form a grid.
func startAgents(t *testing.T, more ...string) []*agent {
	t.Helper()
	long.NotShort(t, "it runs several agents as processes")
	gossip, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	return startAgentsAt(t, gossip, more...)
}

// startAgentsAt starts an agent for each gossip address, which form a grid.
func startAgentsAt(t *testing.T, gossip []string, more ...string) []*agent {
	t.Helper()
	agents := make([]*agent, len(gossip))
	args := append([]string{"--expect", strconv.Itoa(len(gossip)), "--join", strings.Join(gossip, ",")}, more...)
	var starting sync.WaitGroup
	for i := range agents {
		starting.Go(func() { agents[i] = startAgent(t, gossip[i], args...) })
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return agents
}

// apis joins the addresses of the agents that run.
func apis(agents []*agent) string {
	var out []string
	for _, a := range agents {
		if !a.hasEnded() {
			out = append(out, a.api)
		}
	}
	return strings.Join(out, ",")
}

// statusOf returns what `status -o json` prints, without a process around it.
func statusOf(t *testing.T, addrs string, more ...string) (s grid.Status, err error) {
	t.Helper()
	var out, errs strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if status := run(ctx, append([]string{"status", "-o", "json", "--addr", addrs}, more...),
		streams{out: &out, err: &errs}); status != exitDone {
		return s, errors.New(errs.String())
	}
	return s, json.Unmarshal([]byte(out.String()), &s)
}

// awaitStatus waits for a status that is as it should be, by what ok complains
// about.
func awaitStatus(t *testing.T, addrs string, ok func(grid.Status) string, more ...string) grid.Status {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s, err := statusOf(t, addrs, more...)
		complaint := "no status"
		if err == nil {
			complaint = ok(s)
		}
		if complaint == "" {
			return s
		}
		if time.Now().After(deadline) {
			s.Partitions = nil // too many to read
			t.Fatalf("after %v the status is still wrong: %s; error %v\n%+v", patience, complaint, err, s)
		}
		pause()
	}
}

// membersAre complains unless exactly the agents are members, alive, and share
// all partitions among them, a leader being known.
func membersAre(agents ...*agent) func(grid.Status) string {
	return func(s grid.Status) string {
		var want, got []string
		for _, a := range agents {
			want = append(want, a.api)
		}
		owned := 0
		for _, m := range s.Members {
			got = append(got, m.API)
			owned += m.Partitions
			if !m.Alive || !m.Durable {
				return fmt.Sprintf("member %+v", m)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		switch {
		case !slices.Equal(want, got):
			return fmt.Sprintf("members %q, want %q", got, want)
		case !s.Ready || s.Leader == "" || len(s.Unreachable) > 0:
			return "it is not ready, has no leader, or does not reach all"
		case owned != len(s.Partitions) || owned != s.Settings.Partitions:
			return fmt.Sprintf("%d of %d partitions are owned", owned, len(s.Partitions))
		}
		return ""
	}
}

// ownerOf returns the agent that owns a name's partition, nil while none does.
func ownerOf(s grid.Status, name string, agents []*agent) *agent {
	for _, m := range s.Members {
		if m.Incarnation != s.OwnerOf(name) {
			continue
		}
		for _, a := range agents {
			if a.api == m.API && !a.hasEnded() {
				return a
			}
		}
	}
	return nil
}

// sequencerIn returns a sequencer out of a status.
func sequencerIn(s grid.Status, name string) (grid.SequencerInfo, bool) {
	i := slices.IndexFunc(s.Sequencers, func(q grid.SequencerInfo) bool { return q.Name == name })
	if i < 0 {
		return grid.SequencerInfo{}, false
	}
	return s.Sequencers[i], true
}

// tap is a `next` as a process, and the IDs it printed. Read ids once it ended.
type tap struct {
	*process
	ids  []sequencer.ID
	bad  string // the first line that is no ID
	read atomic.Int64
	last atomic.Int64
}

// dripSize and dripEvery are how a gated tap is read: slowly, so that the client
// behind it, which cannot print more, makes IDs for as long as the test wants.
const (
	dripSize  = 200 // lines
	dripEvery = 10 * time.Millisecond
)

// startTap starts `next`. Unless gate is nil, its output is read slowly until
// gate is closed, and before that not beyond limit lines.
func startTap(t *testing.T, gate <-chan struct{}, limit int64, args ...string) *tap {
	t.Helper()
	p := &tap{}
	p.process = start(t, func(r io.Reader) { p.drain(r, gate, limit) }, append([]string{"next"}, args...)...)
	return p
}

func (p *tap) drain(r io.Reader, gate <-chan struct{}, limit int64) {
	drip := time.NewTicker(dripEvery)
	defer drip.Stop()
	lines := bufio.NewScanner(r)
	for n := int64(1); lines.Scan(); n++ {
		id, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil && p.bad == "" {
			p.bad = lines.Text()
		}
		p.ids = append(p.ids, sequencer.ID(id))
		p.last.Store(id)
		p.read.Store(n)
		if gate == nil || n%dripSize != 0 {
			continue
		}
		if n >= limit {
			<-gate
		}
		select {
		case <-gate:
			gate = nil
		case <-drip.C:
		}
	}
}

// checkTaps wants every tap to have ended well, with ascending IDs of which none
// came twice, from any of them. It returns how many IDs that are.
func checkTaps(t *testing.T, taps []*tap) int {
	t.Helper()
	var all []sequencer.ID
	for i, p := range taps {
		if status := p.exit(); status != exitDone {
			t.Errorf("client %d ended with status %d; stderr:\n%s", i, status, tail(p.stderr.String()))
		}
		if p.bad != "" {
			t.Errorf("client %d printed %q", i, p.bad)
		}
		for j := 1; j < len(p.ids); j++ {
			if p.ids[j] <= p.ids[j-1] {
				t.Errorf("client %d printed %d after %d", i, p.ids[j], p.ids[j-1])
				break
			}
		}
		all = append(all, p.ids...)
	}
	total := len(all)
	slices.Sort(all)
	if distinct := len(slices.Compact(all)); distinct != total {
		t.Errorf("%d IDs came twice, of %d", total-distinct, total)
	}
	return total
}

// tenure is a stretch of a tap's IDs that are of one logical node.
type tenure struct {
	tap         int
	node        sequencer.NodeID
	first, last time.Time
}

// checkTenures wants no two taps to have used a logical node in times that
// overlap. That is more than that no ID came twice, which slow clients could owe
// to luck.
func checkTenures(t *testing.T, taps []*tap, d sequencer.Definition) {
	t.Helper()
	var all []tenure
	for i, p := range taps {
		for _, id := range p.ids {
			at := d.Decompose(id)
			if n := len(all); n == 0 || all[n-1].tap != i || all[n-1].node != at.Node {
				all = append(all, tenure{tap: i, node: at.Node, first: at.Time})
			}
			all[len(all)-1].last = at.Time
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.tap != b.tap && a.node == b.node && !a.first.After(b.last) && !b.first.After(a.last) {
				t.Errorf("two clients used a node at the same time: %+v and %+v", b, a)
			}
		}
	}
}

// nodesOf returns the logical nodes that a tap's IDs are of, in the order in
// which they were used.
func nodesOf(t *testing.T, p *tap, nodes int) []sequencer.NodeID {
	t.Helper()
	d, err := sequencer.Define("decoded", sequencer.Config{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	var out []sequencer.NodeID
	for _, id := range p.ids {
		if node := d.Decompose(id).Node; len(out) == 0 || out[len(out)-1] != node {
			out = append(out, node)
		}
	}
	return out
}

// moreOf is how many IDs each of five clients prints.
func moreOf() int64 { return long.Or[int64](20_000, 200_000) }

// TestProcesses takes one grid of three agents through what happens to grids.
func TestProcesses(t *testing.T) {
	t.Parallel()
	agents := startAgents(t, "--window", "2s")
	s := awaitStatus(t, apis(agents), membersAre(agents...))
	if s.Name != "snowgrid" || s.Settings.Window != 2000 || s.Settings.Backups != 1 || len(s.Sequencers) != 0 {
		t.Errorf("a new grid: %+v, sequencers %v", s.Settings, s.Sequencers)
	}
	// The order matters: later ones lose agents.
	t.Run("five clients", func(t *testing.T) { testFiveClients(t, agents, "orders") })
	t.Run("five clients of 128 nodes", func(t *testing.T) { testFiveClients(t, agents, "events", "--nodes", "128") })
	t.Run("status of sequencers", func(t *testing.T) { testSequencerStatus(t, agents) })
	t.Run("destroy of nothing", func(t *testing.T) {
		status, stdout, stderr := command(t, "destroy", "missing", "--yes", "--addr", apis(agents))
		if status != exitFailed || stdout != "" || !strings.Contains(stderr, `"missing"`) ||
			!strings.Contains(stderr, "not found") {
			t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
		}
	})
	t.Run("join and leave", func(t *testing.T) { testJoinAndLeave(t, agents) })
	t.Run("owner killed", func(t *testing.T) { testOwnerKilled(t, agents) })
	t.Run("second signal", func(t *testing.T) { testSecondSignal(t, agents) })
}

func testFiveClients(t *testing.T, agents []*agent, name string, layout ...string) {
	var taps []*tap
	gate := make(chan struct{}) // none ends before all have a logical node
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	for range 5 {
		args := append([]string{name, "-n", strconv.FormatInt(moreOf(), 10), "--addr", apis(agents)}, layout...)
		taps = append(taps, startTap(t, gate, dripSize, args...))
	}
	await(t, "every client prints", func() bool {
		return !slices.ContainsFunc(taps, func(p *tap) bool { return p.read.Load() == 0 })
	})
	open()
	if total := checkTaps(t, taps); int64(total) != 5*moreOf() {
		t.Errorf("%d IDs, want %d", total, 5*moreOf())
	}
	nodes := 8192
	if len(layout) > 0 {
		nodes = 128
	}
	holder := map[sequencer.NodeID]int{}
	for i, p := range taps {
		used := nodesOf(t, p, nodes)
		if len(used) != 1 {
			t.Fatalf("client %d used the nodes %v, want one", i, used)
		}
		if other, taken := holder[used[0]]; taken {
			t.Errorf("clients %d and %d used node %d", other, i, used[0])
		}
		holder[used[0]] = i
	}
}

// testSequencerStatus follows one sequencer through a client's life and its own
// end.
func testSequencerStatus(t *testing.T, agents []*agent) {
	const name = "followed"
	attached := func(want int) func(grid.Status) string {
		return func(s grid.Status) string {
			q, found := sequencerIn(s, name)
			if !found || q.Attached != want || len(q.AttachedNodes) != want {
				return fmt.Sprintf("want %d attached; found %v: %+v", want, found, q)
			}
			return ""
		}
	}
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	one := startTap(t, gate, 1000, name, "-n", "1000000000", "--addr", apis(agents))
	two := startTap(t, gate, 1000, name, "-n", "1000000000", "--addr", apis(agents))
	s := awaitStatus(t, apis(agents), attached(2))
	q, _ := sequencerIn(s, name)
	if q.Owner != s.OwnerOf(name) || q.Nodes != 8192 || !q.Epoch.Equal(epoch.Default.Time()) ||
		strings.Trim(q.Life, "0") == "" {
		t.Errorf("sequencer %+v", q)
	}
	await(t, "both clients print", func() bool { return one.read.Load() > 0 && two.read.Load() > 0 })
	one.signal(os.Interrupt)
	two.signal(syscall.SIGTERM)
	open()
	checkTaps(t, []*tap{one, two})
	for _, p := range []*tap{one, two} {
		if used := nodesOf(t, p, 8192); len(used) != 1 || !slices.Contains(q.AttachedNodes, used[0]) {
			t.Errorf("IDs of the nodes %v; the status named %v", used, q.AttachedNodes)
		}
		if !strings.Contains(p.stderr.String(), "snowgrid: stopped after ") {
			t.Errorf("an interrupted client says %q", p.stderr.String())
		}
	}
	// Both gave their nodes back before they ended.
	if s, err := statusOf(t, apis(agents)); err != nil || attached(0)(s) != "" {
		t.Errorf("after the clients have ended: %s; error %v", attached(0)(s), err)
	}
	status, stdout, stderr := command(t, "destroy", name, "--yes", "--addr", apis(agents))
	if status != exitDone || stdout != "destroyed "+name+"\n" {
		t.Errorf("destroy: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	// This one as a process, with all that the command prints.
	status, stdout, stderr = command(t, "status", "-o", "json", "--addr", apis(agents))
	if err := json.Unmarshal([]byte(stdout), &s); status != exitDone || err != nil {
		t.Fatalf("status %d, error %v, stderr %q", status, err, stderr)
	}
	if q, found := sequencerIn(s, name); found {
		t.Errorf("destroyed, and still there: %+v", q)
	}
}

// testJoinAndLeave has a fourth agent come and go.
func testJoinAndLeave(t *testing.T, agents []*agent) {
	gossip, err := loopback.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := statusOf(t, apis(agents))
	if err != nil {
		t.Fatal(err)
	}
	fourth := startAgent(t, gossip[0], "--join", s.Members[0].Gossip)
	awaitStatus(t, fourth.api, membersAre(append(slices.Clone(agents), fourth)...))
	fourth.signal(syscall.SIGTERM)
	if status := fourth.exit(); status != exitDone || !strings.Contains(fourth.stderr.String(), `msg="member left"`) {
		t.Errorf("an agent told to leave: status %d, stderr:\n%s", status, tail(fourth.stderr.String()))
	}
	// It left, so no failure has to be detected.
	s, err = statusOf(t, apis(agents))
	if err != nil || len(s.Members) != 3 {
		t.Errorf("after it has left there are the members %+v; error %v", s.Members, err)
	}
	awaitStatus(t, apis(agents), membersAre(agents...))
}

// testOwnerKilled kills the owner of a sequencer while five clients make IDs.
func testOwnerKilled(t *testing.T, agents []*agent) {
	const name = "orders"
	n := moreOf()
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	var taps []*tap
	for range 5 {
		taps = append(taps, startTap(t, gate, n*3/4, name, "-n", strconv.FormatInt(n, 10), "--addr", apis(agents)))
	}
	await(t, "every client prints", func() bool {
		return !slices.ContainsFunc(taps, func(p *tap) bool { return p.read.Load() == 0 })
	})
	s, err := statusOf(t, apis(agents))
	if err != nil {
		t.Fatal(err)
	}
	victim := ownerOf(s, name, agents)
	if victim == nil {
		t.Fatalf("%s has no owner: %s", name, s.OwnerOf(name))
	}
	victim.signal(os.Kill)
	_ = victim.exit()
	var left []*agent
	for _, a := range agents {
		if a != victim {
			left = append(left, a)
		}
	}
	awaitStatus(t, apis(agents), membersAre(left...))
	heir := ownerOf(awaitStatus(t, apis(agents), func(s grid.Status) string {
		if q, found := sequencerIn(s, name); !found || q.Attached != 5 {
			return fmt.Sprintf("the new owner does not know its five holders: %+v", q)
		}
		return ""
	}), name, agents)
	if heir == nil || heir == victim {
		t.Errorf("the new owner is %v", heir)
	}
	for i, p := range taps {
		if p.hasEnded() {
			t.Errorf("client %d has ended before the new owner decides; stderr %s", i, p.stderr.String())
		}
	}
	open()
	if total := checkTaps(t, taps); int64(total) != 5*n {
		t.Errorf("%d IDs, want %d", total, 5*n)
	}
}

// testSecondSignal signals the last agent of a grid that has no majority, so that its
// leave cannot complete, and signals it again.
func testSecondSignal(t *testing.T, agents []*agent) {
	agents = slices.DeleteFunc(slices.Clone(agents), func(a *agent) bool { return a.hasEnded() })
	if len(agents) != 2 {
		t.Fatalf("%d agents are left", len(agents))
	}
	agents[0].signal(os.Kill)
	_ = agents[0].exit()
	last := agents[1]
	last.signal(syscall.SIGTERM)
	await(t, "it begins to leave", func() bool { return strings.Contains(last.stderr.String(), `msg="member leaving"`) })
	if last.hasEnded() {
		t.Fatal("it has left already")
	}
	await(t, "the second signal ends it", func() bool {
		last.signal(syscall.SIGTERM)
		return last.hasEnded()
	})
	state, _ := last.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !state.Signaled() || state.Signal() != syscall.SIGTERM {
		t.Errorf("after a second signal it ended: %v", last.cmd.ProcessState)
	}
}

// stopTime is how long processes are stopped: far longer than their grants reach.
func stopTime() time.Duration { return long.Or(5*time.Second, 10*time.Second) }

// TestStoppedProcesses stops the owner of a sequencer and a client of it with SIGSTOP,
// for longer than any grant reaches, and resumes them. To them no time has passed.
func TestStoppedProcesses(t *testing.T) {
	t.Parallel()
	const name = "orders"
	agents := startAgents(t, "--window", "2s")
	addrs := apis(agents)
	never, free := make(chan struct{}), make(chan struct{})
	tapArgs := []string{name, "-n", "1000000000", "--nodes", "128", "--addr", addrs}
	taps := []*tap{startTap(t, free, 1<<62, tapArgs...)}
	for range 2 {
		taps = append(taps, startTap(t, never, 1<<62, tapArgs...))
	}
	prints := func(p *tap, above int64) func() bool {
		return func() bool { return p.hasEnded() || p.last.Load() > above }
	}
	for _, p := range taps {
		await(t, "a client prints", prints(p, 0))
	}
	s := awaitStatus(t, addrs, membersAre(agents...))
	client, owner := taps[0], ownerOf(s, name, agents)
	if owner == nil {
		t.Fatalf("%s has no owner", name)
	}
	before, _ := sequencerIn(s, name)

	// The client generates IDs without a pause: it is stopped and resumed in the middle
	// of a call.
	close(free)
	mark := client.read.Load()
	await(t, "the client prints as fast as it can", func() bool { return client.read.Load() > mark+10_000 })
	stopped := time.Now()
	client.signal(syscall.SIGSTOP)
	owner.signal(syscall.SIGSTOP)
	defer owner.signal(syscall.SIGCONT)
	defer client.signal(syscall.SIGCONT)
	others := apis(slices.DeleteFunc(slices.Clone(agents), func(a *agent) bool { return a == owner }))
	awaitStatus(t, others, func(s grid.Status) string {
		q, found := sequencerIn(s, name)
		if !found || q.Owner == before.Owner || q.Attached < 2 {
			return fmt.Sprintf("no new owner with the two running holders: %+v", q)
		}
		return ""
	})
	// Another client takes a node, perhaps that of the stopped client.
	tapArgs[len(tapArgs)-1] = others
	taps = append(taps, startTap(t, never, 1<<62, tapArgs...))
	await(t, "a new client prints", prints(taps[3], 0))
	<-time.After(time.Until(stopped.Add(stopTime())))
	await(t, "the others print meanwhile", prints(taps[1], taps[1].last.Load()))

	d, err := sequencer.Define(name, sequencer.Config{Nodes: 128})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	owner.signal(syscall.SIGCONT)
	client.signal(syscall.SIGCONT)
	await(t, "the resumed client continues above", prints(client, int64(d.MinID(now))))
	awaitStatus(t, owner.api, membersAre(agents...))
	for _, p := range taps {
		if p.hasEnded() {
			t.Errorf("a client ended by itself; stderr:\n%s", tail(p.stderr.String()))
		}
		p.signal(os.Interrupt)
	}
	close(never)
	total := checkTaps(t, taps)
	checkTenures(t, taps, d)
	t.Logf("%d IDs; the client that was stopped used the nodes %v, the others %v %v %v", total,
		nodesOf(t, client, 128), nodesOf(t, taps[1], 128), nodesOf(t, taps[2], 128), nodesOf(t, taps[3], 128))
}

// TestAgentEnds covers the ends of an agent that is alone.
func TestAgentEnds(t *testing.T) {
	t.Parallel()
	gossip, err := loopback.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, gossip[0], "--expect", "1")
	t.Run("data directory in use", func(t *testing.T) {
		status, _, stderr := command(t, "agent", "--gossip-addr", gossip[1], "--raft-addr", "127.0.0.1:0", "--api-addr",
			"127.0.0.1:0",
			"--expect", "1", "--data-dir", a.dir)
		if status != exitFailed || !strings.Contains(stderr, a.dir) {
			t.Errorf("status %d, stderr:\n%s", status, stderr)
		}
	})
	a.signal(syscall.SIGTERM)
	if status := a.exit(); status != exitDone {
		t.Errorf("status %d, stderr:\n%s", status, tail(a.stderr.String()))
	}
	if _, err := os.Stat(filepath.Join(a.dir, ".member.meta")); err != nil {
		t.Error(err)
	}

	// It ends in order while it still looks for its grid, too.
	waiting := start(t, func(io.Reader) {}, "agent", "--gossip-addr", gossip[0], "--raft-addr", "127.0.0.1:0",
		"--api-addr", "127.0.0.1:0",
		"--join", gossip[1])
	await(t, "it waits", func() bool { return strings.Contains(waiting.stderr.String(), `msg="waiting for the grid"`) })
	waiting.signal(os.Interrupt)
	if status := waiting.exit(); status != exitDone || !strings.Contains(waiting.stderr.String(), "start cancelled") {
		t.Errorf("while it waits: status %d, stderr:\n%s", status, tail(waiting.stderr.String()))
	}
}
