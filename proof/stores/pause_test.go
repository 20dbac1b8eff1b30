package stores

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/faultproxy"
)

// each runs a test over each store that is installed, concurrently.
func each(t *testing.T, over []engine, test func(t *testing.T, s *site)) {
	t.Helper()
	for _, e := range over {
		if *onlyOne != "" && *onlyOne != e.name {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			test(t, startSite(t, e))
		})
	}
}

// served returns the stores with a server.
func served() []engine {
	return slices.DeleteFunc(slices.Clone(engines), func(e engine) bool { return e.start == nil })
}

// loop are the flags of a process that takes IDs by Next as fast as it can.
func loop(pool string) []string {
	return []string{"-window", "2s", "-pool", pool, "-next", "-batch", "4096", "-every", "0", "-create", "2s"}
}

// TestStoppedInALoop: a process is stopped while it takes IDs in a tight loop. After three
// windows another has its node. The first one continues, and takes IDs of another node.
func TestStoppedInALoop(t *testing.T) {
	each(t, engines, func(t *testing.T, s *site) {
		stopped, other, taker := s.newHolder("stopped", loop("2")...), s.newHolder("other", loop("2")...),
			s.newHolder("taker", loop("2")...)
		stopped.start()
		stopped.awaitNode(1, patience)
		other.start()
		other.awaitNode(1, patience)
		time.Sleep(300 * time.Millisecond) // of the loop
		stopped.signal(syscall.SIGSTOP)
		began := time.Now()
		taker.start()
		taker.awaitNode(1, patience)
		if taker.nodes()[0] != stopped.nodes()[0] {
			t.Fatalf("the taker has node %v, and the stopped one had %v", taker.nodes(), stopped.nodes())
		}
		time.Sleep(time.Until(began.Add(6 * time.Second))) // three windows of the pause
		other.kill()
		stopped.signal(syscall.SIGCONT)
		stopped.awaitNode(2, patience)
		if n := stopped.nodes()[1]; n != other.nodes()[0] {
			t.Errorf("it continues under node %d; free was %v", n, other.nodes())
		}
		time.Sleep(500 * time.Millisecond) // of both loops
		finish(t, []*holder{stopped, taker}, 2)
		compare([]*holder{stopped, other, taker}).judge(t, 100_000)
	})
}

// TestStoppedAndNoOtherNode: the same with no other node. The process says why it waits.
func TestStoppedAndNoOtherNode(t *testing.T) {
	each(t, engines, func(t *testing.T, s *site) {
		stopped, taker := s.newHolder("stopped", loop("1")...), s.newHolder("taker", loop("1")...)
		stopped.start()
		stopped.awaitNode(1, patience)
		stopped.signal(syscall.SIGSTOP)
		taker.start()
		taker.awaitNode(1, patience)
		time.Sleep(time.Second) // of the taker's loop
		stopped.signal(syscall.SIGCONT)
		stopped.await("reason", patience,
			func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), "error:") })
		compare([]*holder{stopped, taker}).judge(t, 100_000)
		t.Log(strings.Join(stopped.said(), "\n"))
	})
}

// TestServerAwayLongerThanAWindow: holders use what they have, wait, name the reason, and
// continue by themselves.
func TestServerAwayLongerThanAWindow(t *testing.T) {
	each(t, served(), func(t *testing.T, s *site) {
		var all []*holder
		for _, name := range []string{"a", "b", "c"} {
			h := s.newHolder(name, "-window", "1s", "-pool", "3", "-every", "1ms")
			h.start()
			h.awaitNode(1, patience)
			all = append(all, h)
		}
		ways := []string{"killed", "answers lost"}
		if *long {
			ways = append(ways, "stopped", "cut")
		}
		for _, way := range ways {
			for _, h := range all {
				h.set(func() { h.lines = h.lines[:1] }) // the first line is its node
			}
			switch way {
			case "killed":
				s.server.Kill()
			case "stopped":
				s.server.Signal(syscall.SIGSTOP)
			case "cut":
				s.proxies(all, faultproxy.Fault{Cut: true})
			case "answers lost":
				s.proxies(all, faultproxy.Fault{Lose: 1})
			}
			for _, h := range all {
				h.await("error while the server is "+way, patience,
					func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), "error:") })
				t.Logf("%s: %s", way, strings.Join(h.said(), "\n"))
			}
			switch way {
			case "killed":
				s.server.Restart()
			case "stopped":
				s.server.Signal(syscall.SIGCONT)
			default:
				s.proxies(all, faultproxy.Fault{})
			}
			for _, h := range all {
				h.await("IDs after the server was "+way, patience,
					func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), "continues") })
			}
		}
		finish(t, all, len(all))
		compare(all).judge(t, 10_000)
	})
}

// proxies sets a fault on the ways of holders.
func (s *site) proxies(all []*holder, f faultproxy.Fault) {
	for _, h := range all {
		h.proxy.Set(f)
	}
}

// TestWrongClockIsRefused: a store that shows its clock refuses a process whose clock is an
// hour off, and the error names both times.
func TestWrongClockIsRefused(t *testing.T) {
	each(t, engines[:1], func(t *testing.T, s *site) {
		if !s.engine.dated {
			t.Fatalf("%v shows no clock", s.engine)
		}
		h := s.newHolder("hasty", "-clock", "1h")
		h.start()
		h.set(func() { h.meant = true }) // it ends by itself
		<-h.ended
		if said := strings.Join(h.said(), "\n"); h.cmd.ProcessState.Success() || !strings.Contains(said, "MaxSkew") ||
			!strings.Contains(said, "set this machine's clock") {
			t.Errorf("%v: %s", h.cmd.ProcessState, said)
		}
	})
}
