package main

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// safeBuffer is a log that may be read while it is written.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestOneLineForALoss: a store that is away for many windows loses one logical node, in one line of the log that names
// the node and until when its IDs last.
func TestOneLineForALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		window, log := durationFlag(time.Second), &safeBuffer{}
		command := serveCommand{LeaveTimeout: durationFlag(time.Second)}
		command.Timeout, command.Window = durationFlag(time.Second), &window
		cfg, err := command.config(slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Clock = func() time.Time { return time.Now().AddDate(30, 0, 0) } // a bubble begins in 2000
		s := &leaving{Memory: store.NewMemory()}
		c, err := store.Open(t.Context(), s, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.CreateSequencer(t.Context(), "default", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		s.away.Store(true)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		lines := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "logical node lost") {
				lines++
				if !strings.Contains(line, "sequencer=default node=0 version=1 usable_until=20") {
					t.Errorf("the line %q", line)
				}
			}
		}
		if lines != 1 {
			t.Errorf("%d lines for one loss:\n%s", lines, log.String())
		}
	})
}
