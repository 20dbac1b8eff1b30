//go:build !linux

package acceptor

import "net"

// Ended reports whether the other side of a connection has ended it. It is not known here.
func Ended(net.Conn) bool { return false }
