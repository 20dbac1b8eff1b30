//go:build linux

package attack_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	pace      = 20 * time.Millisecond // of the honest client
	probePace = 100 * time.Millisecond
	names     = 64 // of sequencers that exist when the measurement begins
	newNames  = 8  // one attach in so many is to a new sequencer
)

// honest is a client and a prober, whose work continues whatever attackers do.
type honest struct {
	client  *client.Client
	api     []string
	prober  *http.Client
	attempt atomic.Int64
	created atomic.Int64 // names so far
	handles []*sequencer.Sequencer
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
	h := &honest{client: c, api: api, prober: &http.Client{Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}}
	for range names {
		s, err := h.client.CreateSequencer(ctx, h.newName(), sequencer.Config{})
		if err == nil {
			err = s.DetachLogicalNode(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.handles = append(h.handles, s)
	}
	return h
}

// newName returns the name of a sequencer that does not exist.
func (h *honest) newName() string { return fmt.Sprint("orders-", h.created.Add(1)) }

// measured are the figures of an honest client and a prober.
type measured struct {
	mu          sync.Mutex      // guards what follows
	took        []time.Duration // of attaches
	created     []time.Duration // of attaches to new sequencers, whose definitions two disks have to store
	failed      int
	alive, dead int // health checks
	why         error
}

// at returns a percentile of the attaches.
func (m *measured) at(percent int) time.Duration { return percentile(m.took, percent) }

func percentile(of []time.Duration, percent int) time.Duration {
	slices.Sort(of)
	if len(of) == 0 {
		return 0
	}
	return of[(len(of)-1)*percent/100].Round(100 * time.Microsecond)
}

// measure attaches to a sequencer and detaches every 20 ms, whether or not those before have
// ended, and asks a member after its health on a new connection every 100 ms. One sequencer in
// eight is new; those are measured apart, since they wait for disks.
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
	n := h.attempt.Add(1)
	s, isNew := h.handles[n%names], n%newNames == 0
	began := time.Now()
	var err error
	if isNew {
		s, err = h.client.CreateSequencer(ctx, h.newName(), sequencer.Config{})
	} else {
		err = s.AttachLogicalNode(ctx)
	}
	if err == nil {
		_, err = s.Next(ctx)
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
	if isNew {
		m.created = append(m.created, took)
	} else {
		m.took = append(m.took, took)
	}
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
