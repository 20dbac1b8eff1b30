package calls

import (
	"syscall"
	"time"
)

// userTimeout bounds the time for which sent data may stay unacknowledged (RFC 5482): far shorter
// than a session, longer than a few lost packets.
const userTimeout = 5 * time.Second

// tcpUserTimeout is Linux's option number, which package syscall lacks.
const tcpUserTimeout = 0x12

// setUserTimeout sets the option on a socket. A kernel that refuses it keeps its default.
func setUserTimeout(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
	})
}
