package store

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestLongerWindowIsReported: a process whose window is shorter than another one's warns, and names the windows as a
// possible cause: a record states no window, so a longer one looks like a clock that is ahead.
func TestLongerWindowIsReported(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create(b.client(func(c *Config) { c.Window = time.Minute }))
		var log bytes.Buffer
		b.next(b.create(b.client(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })))
		if !strings.Contains(log.String(), "or its window is longer") {
			b.Errorf("the log %q", log.String())
		}
	})
}
