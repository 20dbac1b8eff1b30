package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/snowgrid/snowgrid/cmd/snowgrid-serve/snowflakepb"
)

// dialed opens a connection that ends with the test.
func dialed(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// closedWithin fails the test if the other side does not close a connection in time.
func closedWithin(t *testing.T, conn net.Conn, limit time.Duration) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is open after %v", limit)
	}
}

// TestIdleConnectionsLockNoCallerOut: with all places taken by idle connections, a caller gets one of them, over HTTP
// and gRPC.
func TestIdleConnectionsLockNoCallerOut(t *testing.T) {
	const places = 8
	p := start(t, "--store", "file:"+t.TempDir(), "--max-connections", strconv.Itoa(places))
	for addr, sends := range map[string]string{p.http: "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", p.grpc: http2Preface} {
		for range places {
			_, _ = io.WriteString(dialed(t, addr), sends) // the first ones stay open for minutes
		}
		deadline := time.Now().Add(30 * time.Second)
		for answered(t, addr, sends) == 0 {
			if time.Now().After(deadline) {
				t.Fatalf("%s has no place for a caller; log:\n%s", addr, p.logged())
			}
			time.Sleep(20 * time.Millisecond) // connections are opened until one has a place, as by callers
		}
		for !strings.Contains(p.logged(), "limit=8 addr="+addr) {
			if time.Now().After(deadline) {
				t.Fatalf("no warning of %s: %s", addr, p.logged())
			}
			answered(t, addr, sends)
		}
	}
}

// TestLongestInactiveIsClosed: a new connection takes the place of the longest inactive one. A connection that was
// active within a second keeps its place.
func TestLongestInactiveIsClosed(t *testing.T) {
	at := func(ago time.Duration) *limitedConn {
		c := &limitedConn{}
		c.active.Store(int64(time.Since(processBegan) - ago))
		return c
	}
	oldest, active := at(time.Hour), at(0)
	l := newLimitedListener(nil, 3, slog.New(slog.DiscardHandler))
	l.open = map[*limitedConn]struct{}{at(time.Minute): {}, oldest: {}, active: {}, at(2 * time.Minute): {}}
	if got := l.longestInactive(); got != oldest {
		t.Errorf("closed was another one, last active at %v", time.Duration(got.active.Load()))
	}
	l.open = map[*limitedConn]struct{}{active: {}}
	if l.longestInactive() != nil {
		t.Error("an active connection is closed")
	}
}

// answered returns the length of the first part of an answer on a new connection, 0 for none.
func answered(t *testing.T, addr, sends string) int {
	t.Helper()
	conn := dialed(t, addr)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, sends)
	n, _ := conn.Read(make([]byte, 64))
	return n
}

// TestActiveConnectionsKeepTheirPlaces: a connection beyond the limit is closed if all others are active, and a closed
// one leaves its place.
func TestActiveConnectionsKeepTheirPlaces(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := newLimitedListener(ln, 2, slog.New(slog.DiscardHandler))
	accepted := make(chan net.Conn, 8)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := limited.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	})
	defer accepting.Wait()
	defer func() { _ = limited.Close() }()
	first := dialed(t, ln.Addr().String())
	inner := <-accepted
	dialed(t, ln.Addr().String())
	<-accepted
	closedWithin(t, dialed(t, ln.Addr().String()), 10*time.Second)
	_ = inner.Close()
	closedWithin(t, first, 10*time.Second)
	fourth := dialed(t, ln.Addr().String())
	if got := (<-accepted).RemoteAddr().String(); got != fourth.LocalAddr().String() {
		t.Errorf("accepted %s, want %s", got, fourth.LocalAddr())
	}
}

func TestConnectionLimit(t *testing.T) {
	for _, tc := range []struct {
		stated, files, want int
		says                string
	}{
		{0, 20000, 4096, ""}, {0, 1024, 341, ""}, {0, 1, 1, ""}, {100, 1024, 100, ""}, {341, 1024, 341, ""},
		{342, 1024, 0, "--max-connections: 342 are more than 341"}, {-1, 1024, 0, "-1 is negative"},
	} {
		got, err := connectionsFlag{tc.stated}.limit(tc.files)
		if got != tc.want || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %d, %v", tc, got, err)
		}
	}
}

// grpcFor serves gRPC with some lives of connections, and returns the address.
func grpcFor(t *testing.T, lives keepalive.ServerParameters) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newGRPC(ownService(t), newMetrics(), nil, lives)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return ln.Addr().String()
}

// http2Preface is the beginning of an HTTP/2 connection: the preface and empty SETTINGS.
const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// openCall is HEADERS of stream 1 without its end, in HPACK: POST, http, the path /SnowflakeID/nextID and the content
// type of gRPC.
const openCall = "\x00\x00\x2d\x01\x04\x00\x00\x00\x01" +
	"\x83\x86\x04\x13/SnowflakeID/nextID\x01\x01a\x0f\x10\x10application/grpc"

// TestUnusedConnectionsEnd: gRPC connections without a call end, and connections whose call never gets its message.
func TestUnusedConnectionsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		sends string
		lives keepalive.ServerParameters
	}{
		"without a call": {http2Preface, keepalive.ServerParameters{MaxConnectionIdle: 50 * time.Millisecond}},
		"with a call without its message": {http2Preface + openCall, keepalive.ServerParameters{
			MaxConnectionAge: 50 * time.Millisecond, MaxConnectionAgeGrace: 50 * time.Millisecond}},
		"without answers to pings": {http2Preface + openCall, keepalive.ServerParameters{
			Time: time.Second, Timeout: 50 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dialed(t, grpcFor(t, tc.lives))
			if _, err := io.WriteString(conn, tc.sends); err != nil {
				t.Fatal(err)
			}
			closedWithin(t, conn, 20*time.Second)
		})
	}
	if grpcLives.MaxConnectionIdle != idleTimeout || grpcLives.MaxConnectionAge <= 0 ||
		grpcLives.MaxConnectionAgeGrace <= 0 || grpcLives.Time+grpcLives.Timeout > time.Minute {
		t.Errorf("connections live for %+v", grpcLives)
	}
}

// TestLargeMetadataIsRefused: calls in progress keep their headers, which one connection could fill the memory with.
func TestLargeMetadataIsRefused(t *testing.T) {
	conn, err := grpc.NewClient(grpcFor(t, grpcLives), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := snowflakepb.NewSnowflakeIDClient(conn)
	for size, want := range map[int]codes.Code{4 << 10: codes.OK, 32 << 10: codes.Internal} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := client.NextID(metadata.AppendToOutgoingContext(ctx, "a", strings.Repeat("x", size)), &emptypb.Empty{})
		cancel()
		if status.Code(err) != want {
			t.Errorf("%d bytes of metadata: %v, want %v", size, err, want)
		}
	}
}
