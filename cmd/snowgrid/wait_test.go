package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// answering starts a server that answers the n-th question about the status by after(n).
func answering(t *testing.T, after func(n int64) grid.Status) (addr string) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.JSON)
		_ = json.NewEncoder(w).Encode(after(asked.Add(1)))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestWait(t *testing.T) {
	ready := answering(t, func(int64) grid.Status {
		return grid.Status{Grid: "g", Name: "shop", Version: 1, Ready: true, Settled: true,
			Members: make([]grid.MemberInfo, 1)}
	})
	later := answering(t, func(n int64) grid.Status {
		return grid.Status{Name: "shop", Version: 1, Ready: n > 2, NotReady: "IDs begin at noon", Settled: n > 2,
			NotSettled: "2 partitions have no backup"}
	})
	counting := answering(t, func(n int64) grid.Status {
		return grid.Status{Name: "shop", Version: 1, NotReady: fmt.Sprintf("IDs begin at noon (in %d.5s): a floor", 20-n)}
	})
	never := answering(t, func(int64) grid.Status {
		return grid.Status{Name: "shop", Version: 1, NotReady: "no leader", NotSettled: "no leader"}
	})
	slow := func(int64) grid.Status {
		time.Sleep(400 * time.Millisecond)
		return grid.Status{Name: "shop", Version: 1, NotSettled: "no raise for 7.1s"}
	}
	first := sync.OnceValue(time.Now)
	silent := func(int64) grid.Status {
		if time.Since(first()) > 2200*time.Millisecond {
			time.Sleep(time.Second) // the end of the wait cuts this answer off
		}
		return grid.Status{Name: "shop", Version: 1, NotSettled: "no raise for 7.1s"}
	}
	tests := []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"ready --addr " + ready, 0, "ready: 1 of 1 member\n", ""},
		{"settled --addr " + ready, 0, "settled: grid shop, 1 member\n", ""},
		{"ready -o json --addr " + ready + "," + ready, 0,
			"{\n  \"state\": \"ready\",\n  \"grid\": \"g\",\n  \"name\": \"shop\",\n  \"members\": 2\n}\n", ""},
		{"settled -o json --addr " + ready, 0,
			"{\n  \"state\": \"settled\",\n  \"grid\": \"g\",\n  \"name\": \"shop\",\n  \"members\": 1\n}\n", ""},
		{"ready -o json --within 3s --addr " + never, exitDegraded, "", "not ready within 3s: "},
		{"ready --addr " + later, 0, "ready: 1 of 1 member\n", later + " is not ready: IDs begin at noon\n"},
		{"ready --within 3s --addr " + ready + "," + never, exitDegraded, "",
			"not ready within 3s: " + never + " is not ready: no leader\n"},
		{"ready --within 3s --addr " + counting, exitDegraded, "", "IDs begin at noon"},
		{"settled --within 3s --addr " + never, exitDegraded, "",
			"not settled within 3s: grid shop is not settled: no leader\n"},
		{"settled --within 3s --addr " + answering(t, silent), exitDegraded, "",
			"within 3s: grid shop is not settled: no raise for 7.1s\n"},
		{"settled --within 3s --addr " + answering(t, slow), exitDegraded, "",
			"within 3s: grid shop is not settled: no raise for 7.1s\n"},
		{"ready --within 3s --addr " + ready + ",127.0.0.1:1", exitUnreachable, "", "no member answers at 127.0.0.1:1"},
		{"settled --within 3s --addr 127.0.0.1:1", exitUnreachable, "", "no member answers at 127.0.0.1:1"},
		{"ready --within 0s --addr " + ready, exitUsage, "", "give a duration above 0"},
		{"ready --addr nowhere", exitUsage, "", "this is not host:port"},
		{"soon --addr " + ready, exitUsage, "", "must be one of"},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := runCommand(t, append([]string{"wait"}, strings.Fields(test.args)...)...)
			if status != test.status || stdout != test.stdout || !strings.Contains(stderr, test.stderr) {
				t.Errorf("status %d, want %d; %q, want %q; %q, want %q", status, test.status, stdout, test.stdout, stderr,
					test.stderr)
			}
			if n := strings.Count(stderr, "waiting: "); n > 1 {
				t.Errorf("the same reason is printed %d times: %s", n, stderr)
			}
		})
	}
}
