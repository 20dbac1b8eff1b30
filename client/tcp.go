package client

import (
	"context"
	"net"
)

// TCP opens a TCP connection to addr, a host:port; it gives up after two seconds. Where the
// system can, the connection ends when data stays without the acknowledgement of the other
// machine for some seconds. That is of the other kernel, so a process that is busy or stopped
// keeps its connections, and only a path that is cut loses them.
func TCP(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, Control: setUserTimeout}
	return d.DialContext(ctx, "tcp", addr)
}
