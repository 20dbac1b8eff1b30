package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/logring"
)

// TestIdleConnectionsKeepNoProbeOut: Kubernetes ended a member whose probes waited behind the
// idle connections of any process.
func TestIdleConnectionsKeepNoProbeOut(t *testing.T) {
	flags := opsFlags{OpsAddr: "127.0.0.1:0"}
	ops, err := flags.startOps(slog.New(slog.DiscardHandler), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer ops.close()
	addr := ops.listener.Addr().String()
	probe := func() {
		t.Helper()
		client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Get("http://" + addr + "/livez")
		if err != nil {
			t.Fatalf("a probe: %v", err)
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			t.Errorf("a probe: %s", res.Status)
		}
	}
	var held []net.Conn
	for i := range 3 * opsConnectionsMax {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		held = append(held, conn)
		switch i % 3 { // nothing, a part of a request, a whole one
		case 1:
			_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\n")
		case 2:
			_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		if i%8 == 0 {
			probe()
		}
	}
	probe()
	// The first ones made place.
	_ = held[0].SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := bufio.NewReader(held[0]).ReadByte(); err == nil {
		t.Error("the connection that was idle for longest has an answer")
	}
}

// TestDebugPagesAreForThisMachine: a web page leads a name of its own to a loopback address.
func TestDebugPagesAreForThisMachine(t *testing.T) {
	ops := &opsServer{registry: prometheus.NewRegistry()}
	handler := ops.routes(true, &debugPages{log: logring.New(1)})
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:7949", "", 200}, {"localhost", "", 200}, {"[::1]:7949", "", 200},
		{"evil.example", "", 403}, {"evil.example:7949", "http://evil.example:7949", 403},
		{"127.0.0.1:7949", "http://evil.example", 403},
		{"127.0.0.1.evil.example", "", 403}, {"", "", 403},
	} {
		for _, path := range []string{"/debug/build", "/debug/pprof/cmdline", "/debug/config"} {
			r := httptest.NewRequest("GET", "http://x"+path, nil)
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Error(fmt.Sprintf("%s of host %q, origin %q:", path, c.host, c.origin), w.Code)
			}
		}
	}
}
