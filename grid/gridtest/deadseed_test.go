package gridtest_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
)

// TestDeadSeedIsLogged: a member whose only join address does not answer warns once a minute.
func TestDeadSeedIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
			c.Expect, c.Join = 0, []string{"10.9.9.9:7946"}
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 110*time.Second)
		defer cancel()
		if err := g.TryMember(ctx, "m1"); err == nil {
			t.Fatal("it serves")
		}
		if n := strings.Count(log.String(), "no member answers at a join address; retrying"); n < 1 || n > 3 ||
			!strings.Contains(log.String(), "addr=10.9.9.9:7946") {
			t.Errorf("%d warnings:\n%s", n, log.String())
		}
	})
}

// TestAbsentMemberIsLogged: members that wait for one more name its address in the log, once a minute.
func TestAbsentMemberIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logs [2]bytes.Buffer
		g := gridtest.New(t, gridtest.Config{Members: 2, Change: func(name string, c *grid.Config) {
			c.Expect, c.Join = 3, append(c.Join, "10.9.9.9:7946")
			c.Logger = slog.New(slog.NewTextHandler(&logs[name[1]-'1'], nil))
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		var starts sync.WaitGroup
		for _, name := range []string{"m1", "m2"} {
			starts.Go(func() {
				if err := g.TryMember(ctx, name); err == nil {
					t.Errorf("%s serves", name)
				}
			})
		}
		starts.Wait()
		for i := range logs {
			log := logs[i].String()
			if n := strings.Count(log, "still waiting for the grid"); n != 2 ||
				!strings.Contains(log, "no answer at 10.9.9.9:7946") {
				t.Errorf("m%d: %d reports:\n%s", i+1, n, log)
			}
		}
	})
}

// TestDeadSeedIsNamed: /readyz and the status of a member that waits name the join addresses without an
// answer, and the error of the first, in one line.
func TestDeadSeedIsNamed(t *testing.T) {
	t.Parallel()
	for _, expect := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			g := gridtest.New(t, gridtest.Config{Members: 1, Change: func(_ string, c *grid.Config) {
				c.Expect, c.Join = expect, []string{"10.9.9.5:7946", "10.9.9.4:7946", "10.9.9.3:7946", "10.9.9.2:7946",
					"10.9.9.1:7946"}
			}})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- g.TryMember(ctx, "m1") }()
			time.Sleep(time.Minute)
			calls := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				return g.Network.Host("web").Dial(ctx, addr)
			}}
			for _, path := range []string{"/readyz", "/v1/status"} {
				res, err := (&http.Client{Transport: calls}).Get("http://m1:7948" + path) //nolint:noctx // the network is in memory
				ok(t, path, err)
				body, err := io.ReadAll(res.Body)
				ok(t, path, err)
				_ = res.Body.Close()
				if want := "no answer at 10.9.9.1:7946, 10.9.9.2:7946, 10.9.9.3:7946 and 2 more (dial tcp 10.9.9.1:7946: no " +
					"route to host)"; !strings.Contains(string(body), want) {
					t.Errorf("expect %d: %s is without %q: %s", expect, path, want, body)
				}
			}
			calls.CloseIdleConnections()
			cancel()
			if err := <-ended; err == nil {
				t.Error("it serves")
			}
		})
	}
}
