//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestAnchorProcesses: two memory-only members form a grid of one each, by hand, on one
// anchor. The second waits and says for which grid; when the first is killed it serves,
// and no ID repeats.
func TestAnchorProcesses(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	addrs, err := loopback.FreeAddrs(4)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	begin := func(gossip, api string) (a *agent, served chan string) {
		a, served = &agent{api: api}, make(chan string, 1)
		a.process = start(t, func(r io.Reader) {
			line, _ := bufio.NewReader(r).ReadString('\n')
			served <- line
		}, "agent", "--expect", "1", "--gossip-addr", gossip, "--raft-addr", "127.0.0.1:0", "--api-addr", api,
			"--window", "1s",
			"--anchor", "file:"+dir, "--anchor-ahead", "4s")
		return a, served
	}
	began := time.Now()
	first, served := begin(addrs[0], addrs[1])
	first.awaitAPI(served)
	before, err := nextIDs(t, first.api, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the first IDs took %v", took)
	}
	second, served := begin(addrs[2], addrs[3])
	holder := awaitStatus(t, first.api, func(s grid.Status) string {
		if s.Anchor == nil || s.Anchor.State != "held" {
			return "the anchor is not held"
		}
		return ""
	})
	awaitStatus(t, second.api, func(s grid.Status) string {
		if s.Anchor == nil || s.Anchor.State != "waiting" || s.Anchor.RecordGrid != holder.Grid ||
			!strings.Contains(s.NotReady, holder.Grid) {
			return "the second does not wait for the first: " + s.NotReady
		}
		return ""
	})
	if _, stdout, _ := command(t, "status", "--addr", second.api); !strings.Contains(stdout, "waiting, up to") ||
		!strings.Contains(stdout, holder.Answering) || strings.Contains(stdout, "absent voter") {
		t.Errorf("status of the second:\n%s", stdout)
	}
	select {
	case line := <-served:
		t.Fatalf("the second serves beside the first: %s", line)
	case <-time.After(6 * time.Second):
	}
	if status, _, stderr := command(t, "take-anchor", "--addr", first.api); status != exitFailed ||
		!strings.Contains(stderr, "belongs to this grid") {
		t.Errorf("take-anchor of the holder: status %d, %q", status, stderr)
	}
	first.signal(os.Kill)
	first.exit()
	second.awaitAPI(served)
	after, err := nextIDs(t, second.api, 1000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[sequencer.ID]bool{}
	for _, id := range append(before, after...) {
		if seen[id] {
			t.Errorf("ID %d was issued twice", id)
		}
		seen[id] = true
	}
	if status, _, stderr := command(t, "agent", "--anchor", "s3://bucket"); status != exitUsage ||
		!strings.Contains(stderr, "file:DIR") {
		t.Errorf("--anchor s3://bucket: status %d, %q", status, stderr)
	}
}
