package client

import (
	"syscall"
	"time"
)

// userTimeout is how long sent data may stay unacknowledged (RFC 5482): shorter than a
// session by far, longer than a few lost packets.
const userTimeout = 5 * time.Second

// tcpUserTimeout is Linux's number of the option, which package syscall lacks.
const tcpUserTimeout = 0x12

// setUserTimeout sets the option on a socket. A kernel that refuses it keeps its default.
func setUserTimeout(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
	})
}
