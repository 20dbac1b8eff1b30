//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// finalPatience is how long a holder may wait for its last IDs, after the last
// fault is over.
const finalPatience = 2 * time.Minute

// world is the grid under test: members and holders as processes.
type world struct {
	t       *testing.T
	dir     string
	net     *network
	members []*process
	holders []*process
	evil    *process // nil without -secure
}

// build compiles the programs, and returns their directory.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", dir+"/", "./agent", "./holder", "./evil")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return dir
}

// credentials returns the arguments of processes with -secure: all of them use the one
// directory, as its roles.
func (w *world) credentials() []string {
	w.t.Helper()
	if !*secure {
		return nil
	}
	dir := filepath.Join(w.dir, "security")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
			w.t.Fatal(err)
		}
	}
	return []string{"-security-dir", dir}
}

// newWorld starts members, waits until they serve, and starts holders with the
// given arguments besides their own.
func newWorld(t *testing.T, members, holders int, seed uint64, more ...string) *world {
	t.Helper()
	w := &world{t: t, net: newNetwork(t), dir: t.TempDir()}
	programs := build(t)
	more = append(more, w.credentials()...)
	var gossip, api []string
	for i := range members {
		p := newProcess(t, w.net, w.dir, "m"+strconv.Itoa(i), filepath.Join(programs, "agent"), func(p *process) []string {
			return append([]string{"-host", p.ip.String(), "-join", strings.Join(gossip, ","), "-expect", strconv.Itoa(members),
				"-dir", filepath.Join(p.dir, "data"), "-shift", p.shiftFile(), "-losses", p.file("losses")}, w.credentials()...)
		})
		gossip, api = append(gossip, p.ip.String()+":7946"), append(api, p.ip.String()+":7948")
		w.members = append(w.members, p)
	}
	for i := range holders {
		w.holders = append(w.holders, newProcess(t, w.net, w.dir, "h"+strconv.Itoa(i), filepath.Join(programs, "holder"),
			func(p *process) []string {
				return append([]string{"-addrs", strings.Join(api, ","), "-history", p.file("history"),
					"-seed", strconv.FormatUint(seed+uint64(1000*p.starts+i), 10),
					"-load", fmt.Sprintf("load-%d", i%4), "-share", fmt.Sprintf("share-%d", i%5),
					"-patience", finalPatience.String()}, more...)
			}))
	}
	w.startAll(w.members)
	for _, p := range w.members {
		p.awaitServing()
	}
	w.startAll(w.holders)
	if *secure {
		w.evil = newProcess(t, w.net, w.dir, "evil", filepath.Join(programs, "evil"), func(*process) []string {
			return append([]string{"-addrs", strings.Join(api, ",")}, w.credentials()...)
		})
		w.startAll([]*process{w.evil})
	}
	return w
}

func (w *world) startAll(all []*process) {
	w.t.Helper()
	for _, p := range all {
		if err := p.start(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// finish ends the holders; each has to get IDs once more before. It returns what
// kept them from it.
func (w *world) finish() error {
	ends := make(chan error)
	for _, p := range w.holders {
		go func() { ends <- p.finish() }()
	}
	var all []error
	for range w.holders {
		all = append(all, <-ends)
	}
	if w.evil != nil {
		all = append(all, w.evil.finish())
		w.t.Logf("the evil process: %s", tail(w.evil.file("log")))
	}
	for _, p := range w.members {
		p.kill()
	}
	return errors.Join(all...)
}

// holderRuns returns every start of every holder.
func (w *world) holderRuns() (all []holderRun) {
	w.t.Helper()
	for _, p := range w.holders {
		starts, err := p.histories()
		if err != nil {
			w.t.Fatal(err)
		}
		for i, ops := range starts {
			all = append(all, holderRun{name: fmt.Sprintf("%s start %d", p.port, i+1), holder: p.port, ops: ops})
		}
	}
	return all
}

// losses reads when the members learned first that a partition had lost every copy.
func (w *world) losses() losses {
	w.t.Helper()
	first := map[roster.PartitionID]map[roster.Term]time.Duration{}
	for _, p := range w.members {
		for start := 1; start <= p.starts; start++ {
			text, _ := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("losses.%d", start))) // none if it never served
			for line := range strings.Lines(string(text)) {
				var at time.Duration
				var id roster.PartitionID
				var term roster.Term
				if n, _ := fmt.Sscan(line, &at, &id, &term); n < 3 {
					continue // killed while it wrote
				}
				if first[id] == nil {
					first[id] = map[roster.Term]time.Duration{}
				}
				if known, ok := first[id][term]; !ok || at < known {
					first[id][term] = at
				}
			}
		}
	}
	out := losses{}
	for id, terms := range first {
		for _, at := range terms {
			out[id] = append(out[id], at)
		}
	}
	return out
}
