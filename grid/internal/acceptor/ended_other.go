//go:build !linux

package acceptor

import "net"

// Ended always reports false: this system does not expose the other side's end.
func Ended(net.Conn) bool { return false }
