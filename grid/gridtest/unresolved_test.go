package gridtest_test

import (
	"context"
	"github.com/snowgrid/snowgrid/internal/long"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// seedsAlert returns the text of the alert about addresses to join, "" for none.
func seedsAlert(s grid.Status) string {
	for _, a := range grid.Alerts(s) {
		if a.Name == "seeds_unresolved" {
			return a.Text
		}
	}
	return ""
}

// nameless is a network without a DNS name, until it exists.
type nameless struct {
	grid.Network
	lacks  string
	exists atomic.Bool
}

// LookupHost resolves all names but one.
func (n *nameless) LookupHost(ctx context.Context, name string) ([]string, error) {
	if name == n.lacks && !n.exists.Load() {
		return nil, &net.DNSError{Err: "no such host", Name: name, Server: "10.0.0.53:53", IsNotFound: true}
	}
	return n.Network.(*gridtest.Host).LookupHost(ctx, name)
}

// TestUnresolvedSeedIsReported: a member of a grid with a join address that does not resolve has the alert
// after a minute, in the view of each member, and the log names the address. The alert ends when the name
// exists.
func TestUnresolvedSeedIsReported(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, names := &sharedLog{}, &nameless{lacks: "later"}
		g := gridtest.New(t, gridtest.Config{Members: 2, Logger: slog.New(slog.NewTextHandler(log, nil)),
			Change: func(name string, c *grid.Config) {
				if name == "m2" {
					c.Join, c.Network = append(c.Join, "later"), names
				}
			}})
		names.Network = g.Network.Host("m2")
		g.StartMembers("m1", "m2")
		time.Sleep(50 * time.Second)
		if text := seedsAlert(statusOf(t, g, "m1")); text != "" {
			t.Errorf("the alert before a minute: %s", text)
		}
		for _, m := range []string{"m1", "m2"} {
			eventually(t, 15*time.Second, m+" has the alert", func() bool {
				text := seedsAlert(statusOf(t, g, m))
				return strings.Contains(text, "m2 (") && strings.Contains(text, "later (no such host)") &&
					strings.Contains(text, "--join")
			})
		}
		if !strings.Contains(log.String(), `msg="join address not resolved; retrying"`) ||
			!strings.Contains(log.String(), "entry=later") {
			t.Error("the log does not name the address")
		}
		names.exists.Store(true)
		eventually(t, 10*time.Second, "the alert ends", func() bool { return seedsAlert(statusOf(t, g, "m1")) == "" })
	})
}

// TestUnresolvedSeedOfAMemberThatWaits: a member whose only join address does not resolve names it in
// /readyz immediately, and in the status after a minute.
func TestUnresolvedSeedOfAMemberThatWaits(t *testing.T) {
	t.Parallel()
	for _, expect := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
				c.Expect, c.Join, c.Network = expect, []string{"ids.internal"}, &nameless{Network: c.Network, lacks: "ids.internal"}
			}})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- g.TryMember(ctx, "m1") }()
			calls := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				return g.Network.Host("web").Dial(ctx, addr)
			}}
			get := func(path string) string {
				res, err := (&http.Client{Transport: calls}).Get("http://m1:7948" + path) //nolint:noctx // the network is in memory
				ok(t, path, err)
				body, err := io.ReadAll(res.Body)
				ok(t, path, err)
				_ = res.Body.Close()
				return string(body)
			}
			time.Sleep(10 * time.Second)
			if body := get("/readyz"); !strings.Contains(body, "not resolved: ids.internal (no such host)") {
				t.Errorf("expect %d: /readyz: %s", expect, body)
			}
			time.Sleep(time.Minute)
			if body := get("/v1/status"); !strings.Contains(body, `"unresolved_join":["ids.internal (no such host)"]`) {
				t.Errorf("expect %d: /v1/status: %s", expect, body)
			}
			calls.CloseIdleConnections()
			cancel()
			if err := <-ended; err == nil {
				t.Error("it serves")
			}
		})
	}
}
