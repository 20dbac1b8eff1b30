//go:build linux

package attack_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/proof/evil"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/security/authority"
	"github.com/snowgrid/snowgrid/sequencer"
)

var (
	connections = flag.Int("connections", 300, "connections of each attack")
	lasting     = flag.Duration("for", time.Second, "how long each attack lasts")
	ratioMax    = flag.Float64("ratio", 0, "most ratio of the 99th percentile of attaches under attack and calm; 0 = not judged, since a busy machine distorts it")
	apart       = flag.Bool("apart", false, "attackers have one half of the processors, and members and the honest client the other")
	only        = flag.String("only", "", "attacks whose name has this; empty = all")
)

const (
	growthMax  = 64 // MB of memory that an attack may cost a member, and half of what all may
	perProcess = 5000
	pace       = 20 * time.Millisecond // of the honest client
	probePace  = 100 * time.Millisecond
)

// TestAttacks runs every attack on a grid of agents, one after the other, and measures an
// honest client, health checks and memory before each and meanwhile.
func TestAttacks(t *testing.T) {
	if !allowFiles(4096) {
		t.Skip("the limit of open files is below 4,096 and cannot be raised")
	}
	stayApart(t)
	agents, dir := startAgents(t, 3)
	var api, other []string
	for _, a := range agents {
		api, other = append(api, a.api), append(other, a.raft, a.gossip)
	}
	h := newHonest(t, dir, api)
	h.measure(t, time.Second) // connections are opened
	began := resident(agents)
	var names []string
	for name := range attacks {
		names = append(names, name)
	}
	slices.Sort(names)
	t.Logf("%-36s %8s %8s %8s %8s %6s %7s %7s %s", "attack", "calm p50", "p99", "p50", "p99", "ratio", "livez", "MB", "the attackers")
	for _, name := range names {
		if !strings.Contains(name, *only) {
			continue
		}
		calm, calmMB := h.measure(t, *lasting), resident(agents)
		var said []func() string
		for i := 0; i < *connections; i += perProcess {
			said = append(said, launch(t, order{
				Attack: name, Dir: dir, API: api, Other: other, From: fmt.Sprintf("127.0.0.%d", 66+i/perProcess),
				Connections: min(perProcess, *connections-i), For: *lasting + time.Second,
			}))
		}
		<-time.After(time.Second) // they have begun
		most := watch(agents)
		under := h.measure(t, *lasting)
		mb := most()
		var did []string
		for _, s := range said {
			did = append(did, s())
		}
		ratio := float64(under.at(99)) / float64(calm.at(99))
		t.Logf("%-36s %8v %8v %8v %8v %6.1f %3d/%3d %3d>%3d %s", name, calm.at(50), calm.at(99), under.at(50), under.at(99), ratio,
			under.alive, under.alive+under.dead, calmMB, mb, strings.Join(did, "; "))
		if under.dead > 0 {
			t.Errorf("%s: %d of %d health checks were not answered: %v", name, under.dead, under.alive+under.dead, under.why)
		}
		if under.failed > 0 || len(under.took) == 0 {
			t.Errorf("%s: %d attaches failed, %d did not: %v", name, under.failed, len(under.took), under.why)
		}
		if mb-calmMB > growthMax {
			t.Errorf("%s: a member grew by %d MB", name, mb-calmMB)
		}
		if *ratioMax > 0 && ratio > *ratioMax {
			t.Errorf("%s: the 99th percentile of attaches is %.1f times that of the calm before", name, ratio)
		}
	}
	end := resident(agents)
	t.Logf("at the end %d MB", end)
	if end-began > 2*growthMax { // garbage of one attack may remain until the next ones
		t.Errorf("a member grew from %d to %d MB by all attacks", began, end)
	}
}

// watch follows the agents' memory until its end, which returns the most in MB.
func watch(agents []*agent) (end func() int) {
	done, most := make(chan struct{}), make(chan int)
	go func() {
		mb := 0
		for {
			mb = max(mb, resident(agents))
			select {
			case <-time.After(100 * time.Millisecond):
			case <-done:
				most <- mb
				return
			}
		}
	}()
	return func() int { close(done); return <-most }
}

// honest is a client and a prober, whose work continues whatever attackers do.
type honest struct {
	client  *client.Client
	api     []string
	prober  *http.Client
	attempt atomic.Int64
}

func newHonest(t *testing.T, dir string, api []string) *honest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Addrs: api, Security: &security.Config{Dir: dir, Role: security.Holder}})
	for err != nil && ctx.Err() == nil { // agents are starting
		<-time.After(100 * time.Millisecond)
		c, err = client.Dial(ctx, client.Config{Addrs: api, Security: &security.Config{Dir: dir, Role: security.Holder}})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	by, err := authority.Load(dir+"/"+security.AuthorityFile, dir+"/"+security.AuthorityKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	conf := evil.Trusting(by)
	h := &honest{client: c, api: api, prober: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}}
	return h
}

// measured are the figures of an honest client and a prober.
type measured struct {
	mu          sync.Mutex // guards what follows
	took        []time.Duration
	failed      int
	alive, dead int // health checks
	why         error
}

// at returns a percentile.
func (m *measured) at(percent int) time.Duration {
	slices.Sort(m.took)
	if len(m.took) == 0 {
		return 0
	}
	return m.took[(len(m.took)-1)*percent/100].Round(100 * time.Microsecond)
}

// measure attaches to a new sequencer and detaches every 20 ms, whether or not those before
// have ended, and asks a member after its health on a new connection every 100 ms.
func (h *honest) measure(t *testing.T, span time.Duration) *measured {
	t.Helper()
	m := &measured{}
	var all sync.WaitGroup
	end, work, probe := time.After(span), time.NewTicker(pace), time.NewTicker(probePace)
	defer work.Stop()
	defer probe.Stop()
	for {
		select {
		case <-work.C:
			all.Go(func() { h.attach(t.Context(), m) })
		case <-probe.C:
			all.Go(func() { h.probe(m) })
		case <-end:
			all.Wait()
			return m
		}
	}
}

func (h *honest) attach(ctx context.Context, m *measured) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	began := time.Now()
	s, err := h.client.CreateSequencer(ctx, fmt.Sprint("orders-", h.attempt.Add(1)), sequencer.Config{})
	if err == nil {
		_, err = s.Next(ctx) // attaches
	}
	took := time.Since(began)
	if err == nil {
		err = s.DetachLogicalNode(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.failed++
		m.why = err
		return
	}
	m.took = append(m.took, took)
}

func (h *honest) probe(m *measured) {
	res, err := h.prober.Get("https://" + h.api[int(h.attempt.Load())%len(h.api)] + "/livez")
	if err == nil {
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			err = fmt.Errorf("/livez: %s", res.Status)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.dead++
		m.why = err
		return
	}
	m.alive++
}
