package client_test

import (
	"context"
	"errors"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
)

// TestDialWithoutLoggerIsNotSilent: a Dial that nothing answers says so once, also without a Logger.
func TestDialWithoutLoggerIsNotSilent(t *testing.T) {
	var text strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := client.Dial(ctx, calls.With(client.Config{
			Addrs: []string{"a:7948"},
			Dial:  func(context.Context, string) (net.Conn, error) { return nil, errors.New("no route") },
		}, calls.Parts{Clock: handles.NewExactClock()}))
		if err == nil {
			t.Error("a client of no member")
		}
		time.Sleep(time.Minute) // dials that have begun end
	})
	if n := strings.Count(text.String(), "no member answers yet"); n != 1 || !strings.Contains(text.String(), "a:7948") {
		t.Errorf("%d lines, want 1 with the address:\n%s", n, text.String())
	}
}
