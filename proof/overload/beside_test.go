//go:build unix

package overload_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/long"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	besideHolders = flag.Int("beside-holders", 200,
		"holders of TestHoldersBesideBusyLoops, each a client with one handle")
	besideProcesses = flag.Int("beside-processes", 2, "processes that they share")
	besideBusy      = flag.Int("beside-busy", 2, "processes that do nothing but take processor time")
	besideFor       = flag.Duration("beside-for", 5*time.Second, "how long they do")
	besideBytes     = flag.Int("beside-bytes", 0, "heap and stacks that a holder may take at both ends, in kB; 0 = any")
)

// TestHoldersBesideBusyLoops runs agents, and processes with many holders, beside busy loops.
// While the loops run a call may time out; a window after their end none does, every handle
// issues IDs, and memory has not grown.
func TestHoldersBesideBusyLoops(t *testing.T) {
	long.Only(t, "it keeps the processors busy for half a minute")
	secured := credentials(t)
	members := startAgents(t, 3, secured)
	awaitReady(t, members)
	empty := memoryOf(t, members)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.api)
	}
	all := startHolders(t, *besideProcesses, holderConfig{
		Addrs: addrs, Secured: secured, Holders: (*besideHolders + *besideProcesses - 1) / *besideProcesses,
	})
	all.look(t)
	time.Sleep(*window)
	before := all.watch(t, "calm", *window/2, *window/2)
	members1 := memoryOf(t, members)
	t.Logf("a holder takes %.1f kB of heap and %.1f kB of stacks at its end, %.1f and %.1f kB at the members'",
		float64(before.Heap)/1e3/float64(before.Handles), float64(before.Stacks)/1e3/float64(before.Handles),
		float64(members1.heap-empty.heap)/1e3/float64(before.Handles),
		float64(members1.stacks-empty.stacks)/1e3/float64(before.Handles))
	if each := (int(before.Heap+before.Stacks) + int(
		members1.heap+members1.stacks-empty.heap-empty.stacks)) / before.Handles / 1000; *besideBytes > 0 &&
		each > *besideBytes {
		t.Errorf("a holder takes %d kB of heap and stacks, %d are allowed", each, *besideBytes)
	}

	end := startBusyLoops(t, *besideBusy)
	during := all.watch(t, "overload", *besideFor, max(*besideFor/20, time.Second))
	end()
	ended := time.Now()
	t.Logf("%d of %d handles issue IDs at the end; %d renewals failed", during.Issuing, during.Handles,
		during.Failed-before.Failed)

	all.awaitAll(t, time.Duration(*within)*(*window))
	took := time.Since(ended)
	time.Sleep(max(0, *window-took))
	healed := all.look(t)
	after := all.watch(t, "after", *window, *window/2)
	members2 := memoryOf(t, members)
	t.Logf(
		"all %d handles issue IDs %v after the end; %d dials meanwhile; heap of holders %d -> %d MB, of members %d -> %d MB",
		after.Handles, took, after.Dials-before.Dials, before.Heap>>20, after.Heap>>20, members1.heap>>20, members2.heap>>20)
	if n := after.Failed - healed.Failed; n > 0 {
		t.Errorf("%d renewals failed later than a window after the end", n)
	}
	if limit := before.Heap + before.Heap/4 + 16<<20; after.Heap > limit {
		t.Errorf("the holders' heap grew from %d to %d MB", before.Heap>>20, after.Heap>>20)
	}
	if limit := members1.heap + members1.heap/4 + 16<<20*int64(len(members)); members2.heap > limit {
		t.Errorf("the members' heap grew from %d to %d MB", members1.heap>>20, members2.heap>>20)
	}
	if n := after.Dials - before.Dials; n > int64(3*after.Handles) {
		t.Errorf("%d dials of %d holders", n, after.Handles)
	}
}

// startBusyLoops starts processes that take all the processor time they get, until end.
func startBusyLoops(t *testing.T, n int) (end func()) {
	t.Helper()
	var loops []*exec.Cmd
	end = sync.OnceFunc(func() {
		for _, l := range loops {
			_ = l.Process.Kill()
			_ = l.Wait()
		}
	})
	t.Cleanup(end)
	for range n {
		l := exec.Command("sh", "-c", "while :; do :; done")
		if err := l.Start(); err != nil {
			t.Fatal(err)
		}
		loops = append(loops, l)
	}
	return end
}

// awaitReady waits until all members are ready.
func awaitReady(t *testing.T, members []*agent) {
	t.Helper()
	for _, m := range members {
		ready := false
		for began := time.Now(); !ready && time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
			answer, err := http.Get("http://" + m.ops + "/readyz")
			if err == nil {
				ready = answer.StatusCode == http.StatusOK
				_ = answer.Body.Close()
			}
		}
		if !ready {
			t.Fatalf("the member at %s is not ready", m.api)
		}
	}
}

// memory is the size of Go's heap and stacks.
type memory struct{ heap, stacks int64 }

// memoryOf returns what members take together without their garbage, as their metrics say.
func memoryOf(t *testing.T, members []*agent) (sum memory) {
	t.Helper()
	for _, m := range members {
		collected, err := http.Get("http://" + m.ops + "/debug/pprof/heap?gc=1")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, collected.Body)
		_ = collected.Body.Close()
	}
	sum = memory{heap: metric(t, members, "go_memstats_heap_alloc_bytes"),
		stacks: metric(t, members, "go_memstats_stack_inuse_bytes")}
	if sum.heap == 0 || sum.stacks == 0 {
		t.Fatal("the metrics of the members do not tell their memory")
	}
	return sum
}

// metric returns the sum of a metric over all members and labels.
func metric(t *testing.T, members []*agent, name string) (sum int64) {
	t.Helper()
	for _, m := range members {
		answer, err := http.Get("http://" + m.ops + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			series, value, _ := strings.Cut(lines.Text(), " ")
			if of, _, _ := strings.Cut(series, "{"); of != name {
				continue
			}
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			sum += int64(v)
		}
		_ = answer.Body.Close()
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

// holderConfig is the configuration of a process of holders.
type holderConfig struct {
	Addrs   []string
	Secured string
	Holders int
}

// figures are the answer of a process of holders to a look.
type figures struct {
	Handles, Issuing               int
	Renewed, Failed, Dials, Lookup int64
	Goroutines                     int
	Heap, Stacks                   int64 // bytes
}

// holderProcess is a process of holders. It answers each line with its figures.
type holderProcess struct {
	in  io.Writer
	out *json.Decoder
}

type holderProcesses []*holderProcess

// startHolders starts processes of holders. Each answers when all its handles exist.
func startHolders(t *testing.T, n int, cfg holderConfig) (all holderProcesses) {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestHolderProcess$", "-test.timeout", "0", "-together",
			strconv.Itoa(*together)) //nolint:gosec // this program
		cmd.Env = append(os.Environ(), holderEnvironment+"="+string(text))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		all = append(all, &holderProcess{in: in, out: json.NewDecoder(out)})
	}
	return all
}

// look returns the sum of the processes' figures.
func (all holderProcesses) look(t *testing.T) figures {
	t.Helper()
	sum, err := all.sum()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// sum is look for any goroutine.
func (all holderProcesses) sum() (sum figures, err error) {
	each := make([]figures, len(all))
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		wait.Go(func() {
			if _, errs[i] = io.WriteString(p.in, "look\n"); errs[i] == nil {
				errs[i] = p.out.Decode(&each[i])
			}
		})
	}
	wait.Wait()
	for i, f := range each {
		if errs[i] != nil {
			return sum, fmt.Errorf("a process of holders: %w", errs[i])
		}
		sum.Handles += f.Handles
		sum.Issuing += f.Issuing
		sum.Renewed += f.Renewed
		sum.Failed += f.Failed
		sum.Dials += f.Dials
		sum.Lookup += f.Lookup
		sum.Goroutines += f.Goroutines
		sum.Heap += f.Heap
		sum.Stacks += f.Stacks
	}
	return sum, nil
}

// answer reports whether all processes answer a look within a time. One that does not must not be asked again.
func (all holderProcesses) answer(t *testing.T, limit time.Duration) bool {
	t.Helper()
	done := make(chan error, 1)
	go func() { // ends with the processes
		_, err := all.sum()
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
		return true
	case <-time.After(limit):
		return false
	}
}

// watch logs the figures of each step of a time, and returns those at its end.
func (all holderProcesses) watch(t *testing.T, what string, d, step time.Duration) (last figures) {
	t.Helper()
	last = all.look(t)
	began := time.Now()
	for at := began; time.Since(began) < d; {
		time.Sleep(min(step, d-time.Since(began)))
		now, seen := all.look(t), time.Now()
		seconds := seen.Sub(at).Seconds()
		t.Logf("%-9s %6.1f s: %6d issue IDs, %6.0f good renewals/s, %5.0f failed/s, %5.0f look-ups/s, %6d dials in all, "+
			"%6d goroutines, %5d MB",
			what, seen.Sub(began).Seconds(), now.Issuing, float64(now.Renewed-last.Renewed)/seconds,
			float64(now.Failed-last.Failed)/seconds,
			float64(now.Lookup-last.Lookup)/seconds, now.Dials, now.Goroutines, now.Heap>>20)
		last, at = now, seen
	}
	return last
}

// awaitAll waits until every handle issues IDs.
func (all holderProcesses) awaitAll(t *testing.T, limit time.Duration) {
	t.Helper()
	began := time.Now()
	for now := all.look(t); now.Issuing < now.Handles; now = all.look(t) {
		if time.Since(began) > limit {
			t.Fatalf("%d of %d handles issue IDs %v after the overload", now.Issuing, now.Handles, limit)
		}
	}
}

const holderEnvironment = "SNOWGRID_OVERLOAD_HOLDERS"

// TestHolderProcess is a process of holders of TestHoldersBesideBusyLoops.
func TestHolderProcess(t *testing.T) {
	text := os.Getenv(holderEnvironment)
	if text == "" {
		t.Skip("it is a part of TestHoldersBesideBusyLoops, which starts it")
	}
	var cfg holderConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	u := &users{secured: cfg.Secured}
	answer := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	u.add(t, cfg.Holders, cfg.Addrs, func(int) dialer { return calls.TCP },
		func(i int) []string { return []string{fmt.Sprint("n", i%100)} })
	for lines.Scan() {
		if err := answer.Encode(u.figures(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// figures returns the figures of the users of this process.
func (u *users) figures(t *testing.T) figures {
	issuing := u.issuing(t)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{
		Handles: len(u.handles), Issuing: issuing, Renewed: u.renewed.Load(), Failed: u.failed.Load(), Dials: u.dials.Load(),
		//nolint:gosec // far below 2^63
		Lookup: u.lookUps.Load(), Goroutines: runtime.NumGoroutine(), Heap: int64(m.HeapAlloc), Stacks: int64(m.StackInuse),
	}
}
