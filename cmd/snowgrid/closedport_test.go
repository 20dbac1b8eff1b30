package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestClosedConnectionNamesTheOtherPorts: a gossip or Raft port closes a connection without an answer, and
// the error names that reason.
func TestClosedConnectionNamesTheOtherPorts(t *testing.T) {
	for name, linger := range map[string]int{"end of file": -1, "reset": 0} {
		t.Run(name, func(t *testing.T) {
			port, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer port.Close()
			go func() {
				for {
					conn, err := port.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 1<<10))
					_ = conn.(*net.TCPConn).SetLinger(linger)
					_ = conn.Close()
				}
			}()
			status, _, stderr := runCommand(t, "status", "--addr", port.Addr().String(), "--timeout", "5s")
			if status != 3 || !strings.Contains(stderr, "as by a gossip or Raft port; give the API address") {
				t.Errorf("status %d: %s", status, stderr)
			}
		})
	}
}

// TestConnectionThatClosesBeforeTheRequest: with TLS such a port may close the connection after the handshake and
// before it has the request, for which package net/http has an error of its own.
func TestConnectionThatClosesBeforeTheRequest(t *testing.T) {
	port := httptest.NewUnstartedServer(nil)
	port.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			_ = conn.Close()
		}
	}
	port.Start()
	defer port.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for range 500 { // it is a matter of microseconds
		_, err := (&http.Client{Transport: transport}).Get(port.URL) //nolint:bodyclose // no answer
		if err == nil {
			t.Fatal("an answer")
		}
		if reason := connectionReason(err); !strings.Contains(reason, "as by a gossip or Raft port") {
			t.Fatal(reason)
		}
	}
}
