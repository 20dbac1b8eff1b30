//go:build linux

package languages

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// endsWithin is a quarter of the window, and the time for a process to end.
const endsWithin = window/4 + time.Second

// TestDestroyed: after a destroy each client ends with that error, and none creates the sequencer again.
func TestDestroyed(t *testing.T) {
	long.Only(t, "it takes half a minute, and the tools of four languages")
	g := startGrid(t)
	programs := programsOf(t, g, "steady", 0)
	if len(programs) == 0 {
		t.Fatal("the tools of no language are installed")
	}
	ended := make(chan *program, len(programs))
	for _, p := range programs {
		p.start(t, g, g.addrs(), 7_200_000, 3600)
		go func() { p.wait(); ended <- p }()
	}
	for _, p := range programs {
		awaitIDs(t, p)
	}
	c, err := client.Dial(t.Context(), client.Config{Addrs: g.addrs(),
		Security: &security.Config{Dir: g.security, Role: security.Admin}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	destroyed := time.Now()
	if err := c.DestroySequencer(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	for range programs {
		select {
		case p := <-ended:
			t.Logf("%s has ended %v after the call", p.name, time.Since(destroyed).Round(time.Millisecond))
			if p.err == nil || !strings.Contains(strings.ToLower(p.said.String()), "destroyed") {
				t.Errorf("%s: %v: %s", p.name, p.err, p.said.String())
			}
		case <-time.After(time.Until(destroyed.Add(endsWithin))):
			t.Fatalf("a client has not ended %v after the destroy", endsWithin)
		}
	}
	if _, err := c.OpenSequencer(t.Context(), "orders"); !errors.Is(err, sequencer.ErrNotFound) {
		t.Errorf("the sequencer is there again: %v", err)
	}
}

// awaitIDs waits until a program has written IDs.
func awaitIDs(t *testing.T, p *program) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if info, err := os.Stat(p.out); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s writes no ID: %s", p.name, p.said.String())
		}
	}
}
