package grid_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// verdict are the answers of one member: /readyz and /v1/settled.
type verdict struct{ ready, settled bool }

// answersWindow is the window of these grids: within it every answer is right.
const answersWindow = 15 * time.Second

// TestAnswers: in each state of the grid /readyz and /v1/settled are right within a
// window on every member, and stay so. No fault takes a member out of service that it
// does not touch.
func TestAnswers(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	yes, no, short := verdict{true, true}, verdict{}, verdict{true, false}
	usual := []string{"started", "majority lost", "cut off", "disk full", "moving"} // the others with -long
	for name, row := range map[string]struct {
		durable bool
		fault   func(a *answering)
		steady  []string // ready all the time
		seen    []verdict
		want    map[string]verdict
	}{
		"starting": {true, func(a *answering) { a.restartAll(1) }, nil, nil, map[string]verdict{"m1": no}},
		"started": {true, func(a *answering) { a.restartAll(3) }, nil, []verdict{no},
			map[string]verdict{"m1": yes, "m2": yes, "m3": yes}},
		"started, one missing": {true, func(a *answering) { a.restartAll(2) }, nil, []verdict{no},
			map[string]verdict{"m1": yes, "m2": yes}},
		"majority lost": {false, func(a *answering) { a.g.Crash("m1", "m2") }, nil, nil,
			map[string]verdict{"m3": no}},
		"majority lost, durable": {true, func(a *answering) { a.g.Crash("m1", "m2") }, nil, nil,
			map[string]verdict{"m3": no}},
		"all apart": {true, func(a *answering) { a.cut("m1", "m2"); a.cut("m1", "m3"); a.cut("m2", "m3") }, nil, nil,
			map[string]verdict{"m1": no, "m2": no, "m3": no}},
		"cut off": {true, func(a *answering) { a.cut("m3", "m1"); a.cut("m3", "m2") }, []string{"m1", "m2"}, nil,
			map[string]verdict{"m1": yes, "m2": yes, "m3": no}},
		"taken out": {true, func(a *answering) { a.lead("m1"); a.cut("m3", "m1") }, []string{"m1", "m2"}, nil,
			map[string]verdict{"m1": yes, "m2": yes, "m3": no}},
		"disk full": {true, func(a *answering) { a.breakDisk("m3") }, []string{"m1", "m2"}, nil,
			map[string]verdict{"m1": yes, "m2": yes, "m3": no}},
		"cloned": {true, func(a *answering) { a.clone("m3", 2*time.Second) }, []string{"m1", "m2", "m3"}, nil,
			map[string]verdict{"m1": yes, "m2": yes, "m3": yes}},
		"one copy missing": {false, func(a *answering) { go a.g.Crash("m3") }, []string{"m1", "m2"}, []verdict{short},
			map[string]verdict{"m1": yes, "m2": yes}},
		"moving": {false, func(a *answering) { go a.g.StartMembers("m4") }, []string{"m1", "m2", "m3"}, []verdict{no},
			map[string]verdict{"m1": yes, "m2": yes, "m3": yes, "m4": yes}},
	} {
		if !long.Enabled() && !slices.Contains(usual, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := startAnswering(t, row.durable)
				row.fault(a)
				a.watch(row.steady, row.seen, row.want)
			})
		})
	}
}

// answering is a grid whose members are asked.
type answering struct {
	t    *testing.T
	g    *gridtest.Grid
	dirs map[string]string
	http *http.Transport
	log  *lines

	broken []string // members whose disk has failed
}

func startAnswering(t *testing.T, durable bool) *answering {
	a := &answering{t: t, dirs: map[string]string{}, log: &lines{}}
	logger := slog.New(slog.NewTextHandler(a.log, nil))
	a.g = gridtest.Start(t, gridtest.Config{Members: 3, Durable: durable, Logger: logger, Delay: 5 * time.Millisecond,
		Change: func(name string, c *grid.Config) {
			if name > "m3" {
				c.Expect = 0
			}
			if dir := a.dirs[name]; dir != "" {
				c.DataDir = dir
			}
			if c.DataDir != "" {
				a.dirs[name] = c.DataDir
			}
		}})
	a.http = &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return a.g.Network.Host("operator").Dial(ctx, addr)
		}}
	t.Cleanup(a.http.CloseIdleConnections)
	a.await(2*answersWindow, map[string]verdict{"m1": {true, true}, "m2": {true, true}, "m3": {true, true}})
	return a
}

// ask asks a member over HTTP.
func (a *answering) ask(name string) verdict {
	return verdict{a.get(name, "/readyz"), a.get(name, wire.PathSettled)}
}

func (a *answering) get(name, path string) bool {
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+":7948"+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	res, err := a.http.RoundTrip(req)
	if err != nil {
		return false // it does not answer yet
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	yes := res.StatusCode == http.StatusOK
	if !yes && res.StatusCode != http.StatusServiceUnavailable {
		a.t.Errorf("%s%s: %s %s", name, path, res.Status, body)
	}
	if path == wire.PathSettled && strings.Contains(string(body), `"settled":true`) != yes {
		a.t.Errorf("%s%s: %s %s", name, path, res.Status, body)
	}
	return yes
}

// await waits until every member answers as wanted, and says when not in time.
func (a *answering) await(limit time.Duration, want map[string]verdict) {
	a.t.Helper()
	began := time.Now()
	for name := range want {
		for a.ask(name) != want[name] {
			if time.Since(began) > limit {
				a.t.Fatalf("%s answers %+v %v after the fault, want %+v: %s", name, a.ask(name), limit, want[name], a.reason(name))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// reason returns the reasons in a member's status for its answers.
func (a *answering) reason(name string) string {
	if !slices.Contains(a.g.Running(), name) {
		return "it does not serve"
	}
	s := a.g.Member(name).Status()
	return s.NotReady + " | " + s.NotSettled
}

// watch checks for two windows that the answers are as wanted within the first and
// from then on, that steady members are ready all the time, and that some member gave
// each of the answers to be seen meanwhile.
func (a *answering) watch(steady []string, seen []verdict, want map[string]verdict) {
	a.t.Helper()
	var mu sync.Mutex // guards what follows
	right, met := time.Duration(0), map[verdict]bool{}
	began := time.Now()
	each := func(name string) { // asks one member, so that a short state of one is not missed beside the others
		for time.Since(began) < 2*answersWindow && !a.t.Failed() {
			got := a.ask(name)
			wrong := time.Duration(0)
			if got != want[name] {
				wrong = time.Since(began)
			}
			mu.Lock()
			met[got], right = true, max(right, wrong)
			mu.Unlock()
			if wrong > answersWindow {
				a.t.Errorf("%s answers %+v %v after the fault, want %+v: %s", name, got, wrong, want[name], a.reason(name))
			}
			if slices.Contains(steady, name) && !a.get(name, "/readyz") {
				a.t.Errorf("%s is not ready %v after a fault that is not its own: %s", name, time.Since(began), a.reason(name))
			}
			time.Sleep(25 * time.Millisecond)
		}
	}
	var all sync.WaitGroup
	for name := range want {
		all.Go(func() { each(name) })
	}
	all.Wait()
	if a.t.Failed() {
		return
	}
	for _, expected := range seen {
		if !met[expected] {
			a.t.Errorf("no member answered %+v", expected)
		}
	}
	a.checkLost(want)
	for _, name := range a.g.Running() {
		if m := a.g.Member(name); m.Ready() != want[name].ready || m.Settled() != want[name].settled ||
			m.Status().Ready != want[name].ready || m.Status().Settled != want[name].settled {
			a.t.Errorf("%s: Ready %v, Settled %v, status %v and %v; want %+v", name, m.Ready(), m.Settled(), m.Status().Ready,
				m.Status().Settled, want[name])
		}
	}
	a.t.Logf("all right after %v", right)
}

// checkLost checks that every member that takes part in no agreement says so: its log
// once at ERROR, with the remedy, and its status; and that no other member does.
func (a *answering) checkLost(want map[string]verdict) {
	a.t.Helper()
	for name := range want {
		lost := !want[name].ready && !slices.Contains(a.broken, name)
		if got := a.log.with("level=ERROR", `msg="quorum lost"`, "host="+name+" ", "advice="); len(got) != count(lost) {
			a.t.Errorf("%s: %d errors say that the quorum was lost, want %d: %q", name, len(got), count(lost), got)
		}
		if !slices.Contains(a.g.Running(), name) {
			continue
		}
		s := a.g.Member(name).Status()
		if lost != strings.HasPrefix(s.Advice, "quorum lost: ") || lost && !strings.HasPrefix(s.NotReady, "quorum lost: ") {
			a.t.Errorf("%s: lost %v, advice %q, not ready %q", name, lost, s.Advice, s.NotReady)
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (a *answering) cut(one, other string) { a.g.Network.Cut(one, other) }

// lead has a durable member lead.
func (a *answering) lead(name string) {
	a.t.Helper()
	id := raft.ServerID(roster.Incarnation(a.g.Member(name).Status().Answering).Member())
	within(a.t, time.Minute, name+" leads", func() bool {
		leader := a.g.Leader()
		if leader == "" || leader == name {
			return leader == name
		}
		node := a.g.Member(leader).Raft()
		for _, s := range node.GetConfiguration().Configuration().Servers {
			if s.ID == id {
				_ = node.LeadershipTransferToServer(s.ID, s.Address).Error()
			}
		}
		return false
	})
}

// restartAll ends all members and starts n of the three again, without waiting for
// them to serve.
func (a *answering) restartAll(n int) {
	a.g.Crash(a.g.Running()...)
	for _, name := range []string{"m1", "m2", "m3"}[:n] {
		go func() { _ = a.g.TryMember(a.t.Context(), name) }()
	}
}

// breakDisk has a member's next write fail.
func (a *answering) breakDisk(name string) {
	a.broken = append(a.broken, name)
	disk := a.g.Member(name).Disk()
	disk.OnWrite(func(string, func() error) error { return errors.New("no space left on device") })
	for {
		for _, member := range a.g.Running() { // one of them leads
			_ = a.g.Member(member).Propose(roster.Command{From: 1, Change: &roster.Change{Window: 1}})
		}
		select {
		case <-disk.Broken():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// copyOf gives m4 a copy of a member's data directory.
func (a *answering) copyOf(name string) {
	a.t.Helper()
	a.dirs["m4"] = filepath.Join(a.t.TempDir(), "copy")
	if err := os.CopyFS(a.dirs["m4"], os.DirFS(a.dirs[name])); err != nil {
		a.t.Fatal(err)
	}
}

// clone starts a copy of a member's data directory on another host: the copy is
// refused, and its error and its log name the other process and the remedy.
func (a *answering) clone(name string, limit time.Duration) {
	a.t.Helper()
	a.copyOf(name)
	a.refused(name, limit)
}

// refused starts the copy of a member's data directory, which is refused.
func (a *answering) refused(name string, limit time.Duration) {
	a.t.Helper()
	began := time.Now()
	err := a.g.TryMember(a.t.Context(), "m4")
	if !errors.Is(err, sequencer.ErrInvalidConfig) {
		a.t.Fatalf("a cloned member: %v", err)
	}
	parts := []string{a.g.Member(name).Addrs().API, a.dirs["m4"], "stop one of the two processes"}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			a.t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	if got := a.log.with(append(parts, "level=ERROR", "host=m4")...); len(got) != 1 {
		a.t.Errorf("%d errors are logged, want 1: %q", len(got), got)
	}
	if took := time.Since(began); took > limit {
		a.t.Errorf("the clone was refused after %v", took)
	}
}
