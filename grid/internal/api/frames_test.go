package api

import (
	"bufio"
	"errors"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestCloseEndsFramedConnections: the HTTP server knows them no longer, and none of its
// goroutines and buffers stays with them.
func TestCloseEndsFramedConnections(t *testing.T) {
	life := tenure.NewLife()
	defer life.Stop()
	clock := handles.NewClock()
	a := New(Config{
		State: state.New(clock, clock), Life: life, Log: slog.New(slog.DiscardHandler),
		Library:  librarylog.New(slog.New(slog.DiscardHandler), clock.Mono),
		NotReady: func() error { return nil }, NotSettled: func() error { return nil },
	}, NewEvents(), nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); a.Serve(listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, "GET "+frame.Path+" HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: "+
		frame.Protocol+"\r\n\r\n")
	in := bufio.NewReader(conn)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	for stack, by := make([]byte, 1<<20),
		time.Now().Add(5*time.Second); strings.Contains(string(stack[:runtime.Stack(stack, true)]),
		"net/http.(*conn).serve("); {
		if time.Now().After(by) {
			t.Fatal("a goroutine of the HTTP server serves a connection in frames")
		}
		time.Sleep(time.Millisecond) // no event tells of its end
	}
	_ = a.Close()
	<-served
	var silent net.Error
	if _, err := in.ReadByte(); err == nil || errors.As(err, &silent) && silent.Timeout() {
		t.Errorf("after Close: %v", err)
	}
}
