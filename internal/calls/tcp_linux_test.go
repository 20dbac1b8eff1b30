package calls

import (
	"net"
	"syscall"
	"testing"
)

// TestTCPUserTimeout: the option is on the socket.
func TestTCPUserTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := TCP(t.Context(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	if err := raw.Control(func(fd uintptr) {
		got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP,
			tcpUserTimeout)
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil || got != int(userTimeout.Milliseconds()) {
		t.Errorf("the socket's user timeout is %d ms, %v", got, err)
	}
}
