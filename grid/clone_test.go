package grid_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestCloneWhileTheOriginalIsSilent: a copy that was started while its original could
// not be reached takes its place, and the original, back again, is the one that is
// refused: it says so at ERROR, is not ready, and comes back when the copy has ended.
func TestCloneWhileTheOriginalIsSilent(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startAnswering(t, true)
		a.g.Network.Pause("m3")
		time.Sleep(30 * time.Second) // it is taken out by then
		a.copyOf("m3")
		a.g.StartMembers("m4")
		copied := a.g.Member("m4").Addrs().API
		a.g.Network.Resume("m3")
		a.await(answersWindow, map[string]verdict{"m1": {true, true}, "m2": {true, true}, "m3": {}, "m4": {true, true}})
		original := a.g.Member("m3")
		within(t, answersWindow, "the original says why",
			func() bool { return strings.Contains(original.Status().NotReady, copied) })
		for began := time.Now(); time.Since(began) < answersWindow; time.Sleep(100 * time.Millisecond) {
			if version := a.g.Member("m1").Status().Version; original.Ready() || !a.g.Member("m4").Ready() {
				t.Fatalf("original ready: %v, copy ready: %v, version %d", original.Ready(), a.g.Member("m4").Ready(), version)
			}
		}
		if got := a.log.with("level=ERROR", "host=m3", copied, "stop one of the two processes"); len(got) != 1 {
			t.Errorf("%d errors are logged, want 1: %q", len(got), got)
		}
		a.g.Crash("m4")
		a.await(2*answersWindow, map[string]verdict{"m1": {true, true}, "m2": {true, true}, "m3": {true, true}})
	})
}

// TestCloneAndOriginalStartTogether: of a copy and an original that ask to join at the
// same time one is let in, and the other ends with an error.
func TestCloneAndOriginalStartTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startAnswering(t, true)
		a.lead("m1")
		a.g.Crash("m3")
		a.copyOf("m3")
		errs := make(chan error, 2)
		for _, name := range []string{"m3", "m4"} {
			go func() { errs <- a.g.TryMember(t.Context(), name) }()
		}
		one, other := <-errs, <-errs
		if (one == nil) == (other == nil) || !errors.Is(errors.Join(one, other), sequencer.ErrInvalidConfig) {
			t.Fatalf("of two processes of one member: %v, and %v", one, other)
		}
		before := incarnations(a.g.Member("m1"))
		want := map[string]verdict{}
		for _, name := range a.g.Running() {
			want[name] = verdict{true, true}
		}
		a.watch([]string{"m1", "m2"}, nil, want)
		if now := incarnations(a.g.Member("m1")); !slices.Equal(now, before) {
			t.Errorf("members %v, before %v", now, before)
		}
	})
}

// startLone starts a durable grid of one member, m1.
func startLone(t *testing.T) *answering {
	a := &answering{t: t, dirs: map[string]string{}, log: &lines{}}
	a.g = gridtest.Start(t, gridtest.Config{Members: 1, Durable: true,
		Logger: slog.New(slog.NewTextHandler(a.log, nil)), Change: func(name string, c *grid.Config) {
			c.Join, c.Expect = nil, 1
			if dir := a.dirs[name]; dir != "" {
				c.DataDir = dir
			}
			a.dirs[name] = c.DataDir
		}})
	return a
}

// TestCloneOfALeader: a copy of the directory of a grid's only voter leads the grid of the
// copy by itself, so no other leader refuses it. It refuses itself while its original answers.
func TestCloneOfALeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startLone(t)
		a.clone("m1", 5*time.Second) // an election takes two
		if !a.g.Member("m1").Ready() {
			t.Errorf("the original is not ready: %s", a.g.Member("m1").Status().NotReady)
		}
		a.g.Crash("m1")
		began := time.Now()
		a.g.StartMembers("m4") // its original does not answer
		if took := time.Since(began); took > answersWindow {
			t.Errorf("a member that was moved serves after %v", took)
		}
	})
}

// TestCloneOfARestartedLeader: a copy names the start that its original had when it was made. A
// later start at that address is the original as well.
func TestCloneOfARestartedLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startLone(t)
		a.g.Crash("m1")
		a.copyOf("m1")
		a.g.StartMembers("m1")
		a.refused("m1", 5*time.Second)
		within(t, time.Minute, "the original serves", a.g.Member("m1").Ready)
	})
}

// TestCrashedMemberIsBackAtOnce: the leader does not wait for an incarnation that has
// ended when the next one of its member asks to join, at the same address or another.
func TestCrashedMemberIsBackAtOnce(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"same address": "m3", "other address": "m9"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := startAnswering(t, true)
				a.lead("m1") // so that no election is measured
				a.g.Crash("m3")
				a.dirs[at] = a.dirs["m3"]
				before := incarnations(a.g.Member("m1"))
				began := time.Now()
				go a.g.StartMembers(at)
				within(t, answersWindow, "it is let in", func() bool {
					now := incarnations(a.g.Member("m1"))
					return len(now) == 3 && !slices.Equal(now, before)
				})
				if took := time.Since(began); took > time.Second { // it takes 80 to 570 ms in 300 runs
					t.Errorf("it is let in %v after its start", took)
				}
				a.await(answersWindow, map[string]verdict{"m1": {true, true}, "m2": {true, true}, at: {true, true}})
			})
		})
	}
}

// incarnations returns the incarnations in the roster that a member knows.
func incarnations(m *grid.Member) (out []string) {
	for _, member := range m.Members() {
		out = append(out, member.Incarnation)
	}
	return out
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// with returns the lines that contain all parts.
func (l *lines) with(parts ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		out = append(out, line)
	}
	return out
}
