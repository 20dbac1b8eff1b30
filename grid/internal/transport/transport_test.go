package transport_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

func TestRealNetworkCarriesAStream(t *testing.T) {
	var nw transport.Sockets
	ln, err := nw.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	go func() {
		conn, err := ln.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	conn, err := nw.Dial(t.Context(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("hello"))
	_ = conn.(*net.TCPConn).CloseWrite()
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = conn.Close()
}

func TestRealNetworkNamesAUsedPort(t *testing.T) {
	var nw transport.Sockets
	ln, err := nw.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	pc, err := nw.ListenPacket("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pc.Close() }()
	_, errStream := nw.Listen(ln.Addr().String())
	_, errPacket := nw.ListenPacket(pc.LocalAddr().String())
	for addr, err := range map[string]error{ln.Addr().String(): errStream, pc.LocalAddr().String(): errPacket} {
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr) ||
			!strings.Contains(err.Error(), "choose another port") {
			t.Errorf("the error does not name the address and what to do: %v", err)
		}
	}
}

// TestListenErrorNamesTheRemedy: by the cause of a failed listen.
func TestListenErrorNamesTheRemedy(t *testing.T) {
	for cause, want := range map[syscall.Errno]string{
		syscall.EADDRINUSE: "choose another port", syscall.EADDRNOTAVAIL: "set AdvertiseHost",
		syscall.EACCES: "above 1023", syscall.EMFILE: "ulimit -n", syscall.ENFILE: "ulimit -n",
		syscall.EINVAL: "check the address",
	} {
		err := transport.ListenError("tcp", "127.0.0.1:7948", &net.OpError{Op: "listen", Net: "tcp", Err: cause})
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":7948: ") {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		a := n.Host("a")
		for addr, want := range map[string]string{
			"a:1":        a.IP().String() + ":1",
			"a":          a.IP().String() + ":7946",
			"10.1.2.3:4": "10.1.2.3:4",
			"10.1.2.3":   "10.1.2.3:7946",
			"[::1]:4":    "[::1]:4",
			"::1":        "[::1]:7946",
		} {
			got, err := transport.Lookup(t.Context(), a, addr, 7946)
			if err != nil || !slices.Equal(got, []string{want}) {
				t.Errorf("lookup %s = %v, %v, want %s", addr, got, err, want)
			}
		}
	})
}
