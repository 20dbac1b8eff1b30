package client

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
)

// TestDialLogsOnce: a Dial that waits for a member says so, once, with the addresses and the error.
func TestDialLogsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.away()
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := Dial(ctx, Config{Addrs: []string{"a:1",
			"b:1"}, parts: calls.Parts{Transport: f}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err == nil {
			t.Fatal("it found a member")
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `addrs="a:1, b:1"`) ||
			!strings.Contains(text, "connection refused") {
			t.Errorf("logged %q", text)
		}
	})
}
