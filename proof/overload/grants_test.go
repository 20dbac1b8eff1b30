//go:build linux

package overload_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/proof/overhttp"
)

var (
	grantsCount = flag.Int("grants", 200, "generators of TestGrants")
	grantsFor   = flag.Duration("grants-for", 5*time.Second, "how long they renew, calm, and again beside busy loops")
	grantsCores = flag.Float64("grants-cores", 0, "processors that all agents may use for them when calm; 0 = any")
	grantsBytes = flag.Int("grants-bytes", 0, "bytes of heap and stacks of all agents for each; 0 = any")
)

// TestGrants: generators over HTTP renew their grants at any member. Beside busy loops, and beside many first
// requests, no generator loses its grant. What a grant costs is measured with one connection to each member, so
// that connections cost nothing; afterwards no generator waits for another one's connection, as in processes.
func TestGrants(t *testing.T) {
	long.Only(t, "it takes half a minute")
	members := startAgents(t, 3, "")
	awaitReady(t, members)
	time.Sleep(2 * *window)
	idle := cpuOf(t, members)
	began := time.Now()
	time.Sleep(*grantsFor)
	idleCores := (cpuOf(t, members) - idle).Seconds() / time.Since(began).Seconds()
	empty := memoryOf(t, members)

	base := func(i int) string { return "http://" + members[i%len(members)].api }
	all := make([]*generator, *grantsCount)
	shared := &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1}
	apart := &http.Transport{MaxIdleConnsPerHost: len(all)}
	defer shared.CloseIdleConnections()
	defer apart.CloseIdleConnections()
	var lines connections
	lines.Store(shared)
	sender := &http.Client{Transport: &lines, Timeout: 2 * time.Second} // G8
	began = time.Now()
	for i := range all {
		all[i] = &generator{rules: overhttp.New(sender, fmt.Sprint("orders-", i%8))}
		all[i].request(base(i))
	}
	t.Logf("%d grants were taken one after the other in %v", len(all), time.Since(began).Round(time.Millisecond))
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i, g := range all {
		running.Go(func() { g.run(base(i), stop) })
	}
	defer func() { close(stop); running.Wait() }()
	time.Sleep(*window)
	before, requests, began := cpuOf(t, members), sent.Load(), time.Now()
	time.Sleep(*grantsFor)
	spent := time.Since(began).Seconds()
	cores := (cpuOf(t, members)-before).Seconds()/spent - idleCores
	after := memoryOf(t, members)
	each := int(after.heap+after.stacks-empty.heap-empty.stacks) / len(all)
	t.Logf("calm: %.3f processors for %.0f renewals a second (idle agents: %.3f), %d bytes for each grant", cores,
		float64(sent.Load()-requests)/spent, idleCores, each)
	if *grantsCores > 0 && cores > *grantsCores {
		t.Errorf("%d grants cost %.3f processors, %.3f are allowed", len(all), cores, *grantsCores)
	}
	if *grantsBytes > 0 && each > *grantsBytes {
		t.Errorf("a grant costs %d bytes, %d are allowed", each, *grantsBytes)
	}

	judgeLost(t, "calm", all)
	lines.Store(apart)
	end := startBusyLoops(t, *besideBusy)
	time.Sleep(*grantsFor)
	judgeLost(t, "beside busy loops", all)
	granted, refused := flood(base, *grantsFor)
	end()
	judgeLost(t, "beside first requests", all)
	t.Logf("%d first requests for names of their own were granted and %d refused in %v", granted, refused, *grantsFor)
	time.Sleep(*window)
	judgeLost(t, "afterwards", all)
}

// connections carries requests by those of a transport that can be replaced.
type connections struct{ atomic.Pointer[http.Transport] }

func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.Load().RoundTrip(r)
}

// judgeLost complains when generators were without a grant since the last call.
func judgeLost(t *testing.T, when string, all []*generator) {
	t.Helper()
	generators, looks := 0, int64(0)
	for _, g := range all {
		if n := g.lost.Swap(0); n > 0 {
			generators++
			looks += n
		}
	}
	if generators > 0 {
		t.Errorf("%s: %d of %d generators were without a grant, at %d looks", when, generators, len(all), looks)
	}
}

// sent counts the requests of all generators.
var sent atomic.Int64

// generator is a process that makes IDs by the rules of docs/grants.md.
type generator struct {
	rules *overhttp.Generator
	lost  atomic.Int64
}

// run renews, and makes an ID four times a second, until stop.
func (g *generator) run(base string, stop chan struct{}) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		g.request(base)
		if id, wait, err := g.rules.Next(); err != nil || id == 0 && wait == 0 {
			g.lost.Add(1)
		}
	}
}

// request sends the request that is due.
func (g *generator) request(base string) {
	if g.rules.RequestDue(base) {
		sent.Add(1)
	}
}

// flooding is the number of processes that make first requests at the same time.
const flooding = 512

// flood has new processes take grants of names of their own for a while, one after the other at each of many
// connections: each first request creates a sequencer and attaches a logical node.
func flood(base func(i int) string, d time.Duration) (granted, refused int64) {
	transport := &http.Transport{MaxIdleConnsPerHost: flooding}
	defer transport.CloseIdleConnections()
	sender := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	var processes sync.WaitGroup
	var given, failed atomic.Int64
	for i, end := 0, time.Now().Add(d); i < flooding; i++ {
		processes.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				g := overhttp.New(sender, fmt.Sprintf("flood-%d-%d", i, n))
				g.RequestDue(base(i + n))
				if id, wait, err := g.Next(); err != nil || id == 0 && wait == 0 {
					failed.Add(1)
				} else {
					given.Add(1)
				}
			}
		})
	}
	processes.Wait()
	return given.Load(), failed.Load()
}

// cpuOf returns the processor time that the members have used.
func cpuOf(t *testing.T, members []*agent) (sum time.Duration) {
	t.Helper()
	for _, m := range members {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		for _, ticks := range fields[11:13] {
			n, err := strconv.Atoi(ticks)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}
