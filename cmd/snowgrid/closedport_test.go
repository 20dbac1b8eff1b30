package main

import (
	"net"
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
