package api

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestCountsOfRequests: each request counts by its path and the code of its answer, those of
// unknown paths together, and connections count while they are open.
func TestCountsOfRequests(t *testing.T) {
	life := tenure.NewLife()
	defer life.Stop()
	clock := handles.NewClock()
	fails := Typed(wire.PathDirectory, func(context.Context, wire.DirectoryRequest) (wire.Done, error) {
		return wire.Done{}, roster.ErrWrongOwner
	})
	a := New(Config{
		State: state.New(clock, clock), Life: life, Library: librarylog.New(slog.New(slog.DiscardHandler), clock.Mono),
		NotReady: func() error { return errors.New("no") }, NotSettled: func() error { return nil },
	}, NewEvents(), []*Call{fails})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); a.Serve(listener) }()
	url := "http://" + listener.Addr().String()
	// One connection for all: another might be accepted, or be on its way out, as the server ends.
	web := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for _, path := range []string{"/livez", "/readyz", "/v1/settled", "/nothing", "/elsewhere"} {
		get(t, web, url+path)
	}
	res, err := web.Post(url+wire.PathDirectory, wire.JSON, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	empty := a.Fill()
	if res, err = web.Post(url+wire.PathDirectory, wire.JSON, strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	empty()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "1" ||
		!strings.Contains(string(body), `"retry_after_ms":1000`) {
		t.Errorf("a request too many: %s, Retry-After %q, %s", res.Status, res.Header.Get("Retry-After"), body)
	}
	c := a.Counts()
	want := "[{/livez ok 1} {/readyz unready 1} {/v1/directory overloaded 1} {/v1/directory wrong_owner 1} {/v1/settled " +
		"ok 1} {other unknown_path 2}]"
	if got := fmt.Sprint(c.Requests); got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
	if c.ShedRequests != 1 || c.Connections < 1 || c.Connections > int(c.Accepted) {
		t.Errorf("counts %+v", c)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	<-served
	for began := time.Now(); a.Counts().Connections != 0; runtime.Gosched() { // each is counted out by its own goroutine
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%d connections are open after the end", a.Counts().Connections)
		}
	}
}

func get(t *testing.T, web *http.Client, url string) {
	t.Helper()
	res, err := web.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
}
