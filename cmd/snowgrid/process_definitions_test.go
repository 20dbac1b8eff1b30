//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/sequencer"
)

// otherEpoch defines any sequencer differently than its name is.
var otherEpoch = sequencer.Config{Epoch: epoch.UnixMilli(1_700_000_000_000)}

// endAll sends every agent a signal and starts them again when all have ended.
func (g *seats) endAll(s os.Signal) {
	g.t.Helper()
	for _, at := range g.all {
		at.signal(s)
	}
	for _, at := range g.all {
		_ = at.exit()
	}
	g.startAll()
}

// dial returns a client of the grid that ends with the test.
func (g *seats) dial() *client.Client {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	c, err := client.Dial(ctx, clientConfig(g.apisBut()...))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestDefinitionsOutliveProcesses: a sequencer cannot be created with another epoch
// after all agents have stopped in order, or were killed: its IDs would be those that
// were issued before.
func TestDefinitionsOutliveProcesses(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	g := startSeats(t, 3, "--window", "3s")
	checker := newChecker()
	take := func(c *client.Client, holder, name string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		s, err := c.CreateSequencer(ctx, name, sequencer.Config{})
		if err != nil {
			t.Fatalf("create %s: %v", name, err)
		}
		ids := make([]sequencer.ID, 50_000)
		n, err := s.Fill(ctx, ids)
		if err != nil {
			t.Fatalf("%s: %d IDs: %v", name, n, err)
		}
		checker.observe(&checkedStream{holder: holder, definition: s.Definition()}, ids[:n])
	}
	signals := []os.Signal{syscall.SIGTERM, os.Kill}
	for i, signal := range long.Or(signals, slices.Concat(signals, signals)) {
		c := g.dial()
		take(c, fmt.Sprint("before ", i), "orders")
		_ = c.Close()
		g.endAll(signal)
		c = g.dial()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := c.CreateSequencer(ctx, "orders", otherEpoch); !errors.Is(err, sequencer.ErrConflict) {
			t.Errorf("after %v of all, a create with another epoch: %v, want ErrConflict", signal, err)
		}
		cancel()
		take(c, fmt.Sprint("after ", i), "orders")
		_ = c.Close()
	}
	if v := checker.verdict(); !v.clean() || v.ids == 0 {
		t.Errorf("of %d IDs %d came twice: %q", v.ids, v.duplicates, v.findings)
	}
}

// createdCallers is how many callers TestKilledWhileCreating has at a time.
const createdCallers = 64

// namesToCreate returns how many names TestKilledWhileCreating creates; it destroys a
// tenth of them. Agents with the race detector take too long for many.
func namesToCreate() int64 {
	if raceDetector {
		return 1_000
	}
	return long.Or[int64](1_000, 10_000)
}

// outcomes records the answered creates and destroys.
type outcomes struct {
	mu        sync.Mutex
	created   map[string]bool // and not destroyed
	destroyed map[string]bool
}

// TestKilledWhileCreating: all agents are killed in the middle of creates and destroys.
// Every create that was answered is known then, and every destroy that was answered
// stays one.
func TestKilledWhileCreating(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	g := startSeats(t, 3, "--window", "3s")
	out := outcomes{created: map[string]bool{}, destroyed: map[string]bool{}}
	var clients []*client.Client
	for range 4 {
		clients = append(clients, g.dial())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	names := namesToCreate()
	var next atomic.Int64
	var answered atomic.Int64
	most := make(chan struct{})
	var callers sync.WaitGroup
	for i := range createdCallers {
		callers.Go(func() {
			for ctx.Err() == nil {
				n := next.Add(1)
				if n > names {
					return
				}
				out.create(ctx, clients[i%len(clients)], fmt.Sprint("name-", n), n%10 == 0)
				if answered.Add(1) == names-names/10 {
					close(most)
				}
			}
		})
	}
	began := time.Now()
	select {
	case <-most:
	case <-time.After(10 * patience):
		t.Fatalf("only %d names were created", answered.Load())
	}
	t.Logf("%d names created in %v", answered.Load(), time.Since(began))
	for _, at := range g.all {
		at.signal(os.Kill)
	}
	for _, at := range g.all {
		_ = at.exit()
	}
	stop()
	callers.Wait()
	for _, c := range clients {
		_ = c.Close()
	}
	began = time.Now()
	g.startAll()
	out.check(t, g.dial(), began)
}

// create creates a name, destroys it if destroy is set, and records the answers.
func (o *outcomes) create(ctx context.Context, c *client.Client, name string, destroy bool) {
	if _, err := c.CreateSequencer(ctx, name, sequencer.Config{}); err != nil {
		return
	}
	o.mu.Lock()
	o.created[name] = true
	o.mu.Unlock()
	if !destroy {
		return
	}
	o.mu.Lock()
	delete(o.created, name) // from here on either will do, until it is answered
	o.mu.Unlock()
	if err := c.DestroySequencer(ctx, name); err == nil {
		o.mu.Lock()
		o.destroyed[name] = true
		o.mu.Unlock()
	}
}

// check wants every answer to be known still.
func (o *outcomes) check(t *testing.T, c *client.Client, began time.Time) {
	t.Helper()
	ask := func(names map[string]bool, f func(ctx context.Context, name string) error, want error) {
		queue := make(chan string)
		var callers sync.WaitGroup
		for range createdCallers {
			callers.Go(func() {
				for name := range queue {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					if err := f(ctx, name); !errors.Is(err, want) {
						t.Errorf("%s: %v, want %v", name, err, want)
					}
					cancel()
				}
			})
		}
		for name := range names {
			queue <- name
		}
		close(queue)
		callers.Wait()
	}
	var first sync.Once
	ask(o.created, func(ctx context.Context, name string) error {
		_, err := c.CreateSequencer(ctx, name, otherEpoch)
		first.Do(func() { t.Logf("the first answer came %v after the start", time.Since(began)) })
		return err
	}, sequencer.ErrConflict)
	ask(o.destroyed, func(ctx context.Context, name string) error {
		_, err := c.OpenSequencer(ctx, name)
		return err
	}, sequencer.ErrNotFound)
	t.Logf("%d creates and %d destroys are known", len(o.created), len(o.destroyed))
	if int64(len(o.created)) < namesToCreate()/2 || int64(len(o.destroyed)) < namesToCreate()/20 {
		t.Errorf("only %d creates and %d destroys were answered", len(o.created), len(o.destroyed))
	}
}

// TestForgetCommand: snowgrid forget gives the reason for a refusal, and forgets a disk
// after its member is gone. The member does not start on the damaged disk.
func TestForgetCommand(t *testing.T) {
	t.Parallel()
	g := startSeats(t, 3, "--window", "3s")
	s := g.status()
	gone := g.all[2]
	var member string
	for _, m := range s.Members {
		if m.API == gone.api {
			member = m.ID()
		}
	}
	forget := func(args ...string) (int, string) {
		status, stdout, stderr := command(t, append([]string{"forget", "--addr", g.all[0].api}, args...)...)
		return status, stdout + stderr
	}
	if status, said := forget(member); status != exitFailed || !strings.Contains(said, "its member is running") {
		t.Errorf("of a member that runs: %d %s", status, said)
	}
	if status, said := forget("orders"); status != exitFailed || !strings.Contains(said, "no member is named") {
		t.Errorf("of no member: %d %s", status, said)
	}
	gone.kill()
	if err := os.Truncate(filepath.Join(gone.dir, "definitions.db"), 0); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := command(t, "agent", "--gossip-addr", gone.gossip, "--raft-addr", gone.raft,
		"--api-addr", gone.api,
		"--data-dir", gone.dir, "--join", g.all[0].gossip)
	if status != exitFailed || !strings.Contains(stderr, "definitions.db") ||
		!strings.Contains(stderr, "snowgrid forget "+member) {
		t.Errorf("a member that lost its definitions: %d %s", status, stderr)
	}
	// Its disk is named no longer when it is taken out of sync, as a backup was there.
	await(t, "its disk is forgotten, or named no longer", func() bool {
		status, said := forget(member)
		return status == exitDone && strings.Contains(said, "was forgotten") ||
			strings.Contains(said, "no partition depends on the disk")
	})
}
