package acceptor

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Connection states in which the other side sends nothing more (RFC 9293, 3.3.2), with Linux's
// numbers (include/net/tcp_states.h).
const (
	tcpClose     = 7
	tcpCloseWait = 8
)

// Ended reports whether the other side of a connection has ended it, though not all that it sent
// before may have been read. It reports false if that cannot be determined.
func Ended(conn net.Conn) (ended bool) {
	c, is := conn.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // an error leaves ended false
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		ended = err == nil && (info.State == tcpClose || info.State == tcpCloseWait)
	})
	return ended
}
