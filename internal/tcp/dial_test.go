//go:build linux

package tcp

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/dnstest"
)

// silent returns the port of a socket on an address that answers no further connection: its queue is
// full, so Linux drops what comes.
func silent(t *testing.T, ip string) (port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	at := &syscall.SockaddrInet4{Addr: [4]byte(net.ParseIP(ip).To4())}
	if err := errors.Join(syscall.Bind(fd, at), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort((&net.TCPAddr{Port: bound.(*syscall.SockaddrInet4).Port}).String())
	for {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(ip, port), 100*time.Millisecond)
		if isTimeout(err) {
			return port
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// accept listens on an address until the test ends.
func accept(t *testing.T, addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
}

// TestDial: a name of several addresses is reached through any of them, within the time of a client's dial.
func TestDial(t *testing.T) {
	dead := "127.0.2.1" // answers nothing at the port
	port := silent(t, dead)
	alive := "127.0.2.2"
	accept(t, net.JoinHostPort(alive, port))
	names := dnstest.Start(t)
	for name, ips := range map[string][]string{
		"one": {alive}, "silent": {dead, alive}, "refused": {"127.0.2.3", alive}, "all": {dead, "127.0.2.3", alive},
		"closed": {"127.0.2.3", "127.0.2.4"}, "gone": {dead},
	} {
		names.Set(name+".test", ips...)
	}
	d := net.Dialer{Timeout: 2 * time.Second, Resolver: names.Resolver()}
	succeeds := func(err error) bool { return err == nil }
	for host, as := range map[string]func(error) bool{
		"one.test": succeeds, "one.test.": succeeds, "silent.test": succeeds, "silent.test.": succeeds,
		"refused.test": succeeds, "all.test": succeeds, alive: succeeds,
		"closed.test": func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
		"gone.test":   isTimeout, dead: isTimeout,
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			conn, err := Dial(t.Context(), d, net.JoinHostPort(host, port))
			if !as(err) {
				t.Fatalf("the error is %v", err)
			}
			if err == nil {
				if got, _, _ := net.SplitHostPort(conn.RemoteAddr().String()); got != alive {
					t.Errorf("connected to %s", got)
				}
				_ = conn.Close()
			}
		})
	}
}

// TestDialErrors: an address without a port and an unknown name give package net's errors.
func TestDialErrors(t *testing.T) {
	d := net.Dialer{Timeout: 2 * time.Second, Resolver: dnstest.Start(t).Resolver()}
	for addr, want := range map[string]string{"ids.test": "missing port in address", "ids.test:1": "no such host"} {
		if _, err := Dial(t.Context(), d, addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
	}
}

// TestDialEnds: a dial ends with its context, whatever the addresses answer.
func TestDialEnds(t *testing.T) {
	dead := "127.0.2.5"
	port := silent(t, dead)
	names := dnstest.Start(t)
	names.Set("ids.test", dead, "127.0.2.6")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	_, err := Dial(ctx, net.Dialer{Resolver: names.Resolver()}, net.JoinHostPort("ids.test", port))
	if err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
