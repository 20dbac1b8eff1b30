package grid_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
)

// warnings keeps the lines that are logged at WARN and above, and counts the connections
// that gossip accepts.
type warnings struct {
	mu       sync.Mutex // guards what follows
	text     bytes.Buffer
	accepted int
}

// Write takes one line, as a slog.TextHandler writes it.
func (w *warnings) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case bytes.Contains(line, []byte("level=WARN ")) || bytes.Contains(line, []byte("level=ERROR ")):
		return w.text.Write(line)
	case bytes.Contains(line, []byte("memberlist: Stream connection from=")):
		w.accepted++
	}
	return len(line), nil
}

// streams returns how many connections gossip has accepted.
func (w *warnings) streams() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.accepted
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
	c.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// counted returns a configuration that counts the handshakes of its two sides.
func counted(conf *tls.Config, handshakes *atomic.Int32) *tls.Config {
	conf.KeyLogWriter = (*handshakeCount)(handshakes)
	return conf
}

// handshakeCount counts the handshakes that get to keys.
type handshakeCount atomic.Int32

// Write takes one line of the log of keys.
func (c *handshakeCount) Write(line []byte) (int, error) {
	if bytes.HasPrefix(line, []byte("CLIENT_HANDSHAKE_")) {
		(*atomic.Int32)(c).Add(1)
	}
	return len(line), nil
}

// TestMismatchIsLogged: members whose keys or certificates do not match never form a
// grid, and each of their logs says why, once.
func TestMismatchIsLogged(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	key := func(b byte) func(*grid.Config) {
		return func(c *grid.Config) { c.Security = &security.Config{GossipKey: bytes.Repeat([]byte{b}, 32)} }
	}
	with := func(conf *tls.Config) func(*grid.Config) {
		return func(c *grid.Config) { c.Security = &security.Config{TLS: conf} }
	}
	ours, foreign := newAuthority(t), newAuthority(t)
	none := func(*grid.Config) {}
	var handshakes atomic.Int32
	gossips := func(one, two *warnings) int { return min(one.streams(), two.streams()) }
	calls := func(_, _ *warnings) int { return int(handshakes.Load()) / 2 }
	tests := map[string]struct {
		one, two       func(*grid.Config)
		oneSaw, twoSaw string
		tried          func(one, two *warnings) int
	}{
		"gossip keys":           {key('a'), key('b'), "the gossip key differs", "the gossip key differs", gossips},
		"a gossip key and none": {key('a'), none, "the gossip key differs", "the gossip key differs", gossips},
		// Their incarnations decide which of them calls, and sees the other's certificate.
		"authorities": {with(counted(ours.mutual(), &handshakes)), with(counted(foreign.mutual(), &handshakes)), "tls: ",
			"tls: ", calls},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			var one, two warnings
			ended := make(chan error, 1)
			go func() {
				_, errs := startPair(ctx, t, func(c *grid.Config) { test.one(c); one.logTo(c) },
					func(c *grid.Config) { test.two(c); two.logTo(c) })
				ended <- errors.Join(errs[:]...)
			}()
			within(t, apiPatience, "each log names the cause", func() bool {
				return len(one.with(test.oneSaw)) > 0 && len(two.with(test.twoSaw)) > 0
			})
			// The failure of an attempt is logged, or not, before the next one.
			within(t, apiPatience, "they try again and again", func() bool { return test.tried(&one, &two) >= 3 })
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
			if what == "authorities" && len(one.with("certificates of the members do not match"))+len(
				two.with("certificates of the members do not match")) == 0 {
				t.Errorf("neither says that a call failed by a certificate: %q, %q", one.with(""), two.with(""))
			}
			if what == "authorities" && len(one.with("x509: certificate signed by unknown authority"))+len(
				two.with("x509: certificate signed by unknown authority")) == 0 {
				t.Errorf("neither names the certificate: %q, %q", one.with(""), two.with(""))
			}
		})
	}
}
