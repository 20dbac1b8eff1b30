//go:build linux

package overload_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
)

var (
	grantsCount = flag.Int("grants", 200, "generators of TestGrants")
	grantsFor   = flag.Duration("grants-for", 5*time.Second, "how long they renew, calm, and again beside busy loops")
	grantsCores = flag.Float64("grants-cores", 0, "processors that all agents may use for them when calm; 0 = any")
	grantsBytes = flag.Int("grants-bytes", 0, "bytes of heap and stacks of all agents for each; 0 = any")
)

// TestGrants: generators over HTTP renew their grants at any member, by one connection to each. Beside busy loops
// members refuse first requests before renewals, and no generator loses its grant.
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

	all := make([]*generator, *grantsCount)
	transport := &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	sender := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	began = time.Now()
	for i := range all {
		all[i] = &generator{t: t, began: began, http: sender, members: members, rules: grants.New(rand.Int64N),
			name: fmt.Sprint("orders-", i%8)}
		all[i].request(i)
	}
	t.Logf("%d grants were taken one after the other in %v", len(all), time.Since(began).Round(time.Millisecond))
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i, g := range all {
		running.Go(func() { g.run(i, stop) })
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

	end := startBusyLoops(t, *besideBusy)
	time.Sleep(*grantsFor)
	end()
	time.Sleep(*window)
	for i, g := range all {
		if n := g.lost.Load(); n > 0 {
			t.Errorf("generator %d was without a grant at %d of its looks", i, n)
		}
	}
}

// sent counts the requests of all generators.
var sent atomic.Int64

// generator is a process that makes IDs by the rules of docs/grants.md.
type generator struct {
	t       *testing.T
	began   time.Time
	http    *http.Client
	members []*agent
	rules   *grants.Generator
	name    string
	lost    atomic.Int64
}

func (g *generator) at() int64 { return time.Since(g.began).Milliseconds() }

// request sends a request to one member.
func (g *generator) request(member int) {
	in := wire.GrantRequest{Grant: g.rules.Request(g.at())}
	if in.Grant == "" {
		in.Name, in.Create = g.name, &wire.IDsCreate{}
	}
	body, err := json.Marshal(in)
	if err != nil {
		g.t.Error(err)
		return
	}
	sent.Add(1)
	url := "http://" + g.members[member%len(g.members)].api + wire.PathGrants
	res, err := g.http.Post(url, wire.JSON, bytes.NewReader(body))
	if err != nil {
		g.rules.Refused(g.at(), grants.Refusal{})
		return
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(res.Body)
	var reply grants.Reply
	var refused grants.Refusal
	if res.StatusCode == http.StatusOK && json.Unmarshal(answer, &reply) == nil {
		g.rules.Replied(g.at(), reply)
	} else {
		_ = json.Unmarshal(answer, &refused)
		g.rules.Refused(g.at(), refused)
	}
}

// run renews, and makes an ID four times a second, until stop.
func (g *generator) run(member int, stop chan struct{}) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		if due, ready := g.rules.Due(); ready && due <= g.at() {
			g.request(member)
		}
		if id, wait, err := g.rules.Next(g.at()); err != nil || id == 0 && wait == 0 {
			g.lost.Add(1)
		}
	}
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
