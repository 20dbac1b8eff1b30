package main

import (
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// noFiles is a listener of a process without a file descriptor.
type noFiles struct{ net.Listener }

func (noFiles) Accept() (net.Conn, error) { return nil, syscall.EMFILE }

// TestOpsListenerWarns: an ops listener that accepts no connections warns once a minute.
func TestOpsListenerWarns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		l := &opsListener{Listener: noFiles{}, logger: slog.New(slog.NewTextHandler(log, nil))}
		for range 90 {
			if _, err := l.Accept(); err == nil {
				t.Fatal("a connection")
			}
			time.Sleep(time.Second)
		}
		if n := strings.Count(log.String(), "connections not accepted"); n != 2 ||
			!strings.Contains(log.String(), "listener=ops") {
			t.Errorf("%d warnings:\n%s", n, log.String())
		}
	})
}
