package grid_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// warnings keeps the lines that are logged at WARN and above.
type warnings struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// with returns the lines that have a text.
func (w *warnings) with(part string) (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(w.text.String()) {
		if strings.Contains(line, part) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// logTo has a member log its warnings.
func (w *warnings) logTo(c *grid.Config) {
	c.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// TestMismatchIsLogged: members whose keys or certificates do not match never form a
// grid, and each of their logs says why, once.
func TestMismatchIsLogged(t *testing.T) {
	t.Parallel()
	key := func(b byte) func(*grid.Config) {
		return func(c *grid.Config) { c.GossipKey = bytes.Repeat([]byte{b}, 32) }
	}
	with := func(conf *tls.Config) func(*grid.Config) { return func(c *grid.Config) { c.TLS = conf } }
	ours, foreign := newAuthority(t), newAuthority(t)
	none := func(*grid.Config) {}
	tests := map[string]struct {
		one, two       func(*grid.Config)
		oneSaw, twoSaw string
	}{
		"gossip keys":           {key('a'), key('b'), "no installed keys could decrypt", "no installed keys could decrypt"},
		"a gossip key and none": {key('a'), none, "remote state is not encrypted", "encryption is not configured"},
		// Their incarnations decide which of them calls, and sees the other's certificate.
		"authorities": {with(ours.mutual()), with(foreign.mutual()), "tls: ", "tls: "},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			var one, two warnings
			ended := make(chan error, 1)
			go func() {
				_, errs := startPair(ctx, t, func(c *grid.Config) { test.one(c); one.logTo(c) }, func(c *grid.Config) { test.two(c); two.logTo(c) })
				ended <- errors.Join(errs[:]...)
			}()
			within(t, apiPatience, "each log names the cause", func() bool {
				return len(one.with(test.oneSaw)) > 0 && len(two.with(test.twoSaw)) > 0
			})
			time.Sleep(time.Second) // they retry meanwhile
			cancel()
			if err := <-ended; err == nil {
				t.Error("they form a grid")
			}
			for log, cause := range map[*warnings]string{&one: test.oneSaw, &two: test.twoSaw} {
				events := map[string]int{}
				for _, line := range log.with(cause) {
					_, event, _ := strings.Cut(line, "level=WARN msg=")
					event, _, _ = strings.Cut(event, " detail=")
					events[event]++
				}
				for event, n := range events {
					if n != 1 || event == "" {
						t.Errorf("%q is logged %d times as %q: %q", cause, n, event, log.with(cause))
					}
				}
			}
			if what == "authorities" && len(one.with("x509: certificate signed by unknown authority"))+len(two.with("x509: certificate signed by unknown authority")) == 0 {
				t.Errorf("neither names the certificate: %q, %q", one.with(""), two.with(""))
			}
		})
	}
}
