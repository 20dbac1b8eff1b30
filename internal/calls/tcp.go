package calls

import (
	"context"
	"net"

	"github.com/snowgrid/snowgrid/internal/tcp"
)

// TCP opens a TCP connection to addr, a host:port; it gives up after two seconds. Where the system
// supports it, the connection ends when sent data stays unacknowledged for some seconds. The other
// machine's kernel acknowledges, so a busy or stopped process keeps its connections, and only a
// broken path ends them.
func TCP(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, Control: setUserTimeout}
	return tcp.Dial(ctx, d, addr)
}
