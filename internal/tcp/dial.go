// Package tcp checks addresses, and opens TCP connections to names that have several.
package tcp

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"
)

// attemptDelay is the time after which the next address of a name is dialed while those before have
// not answered (RFC 8305, 8: Connection Attempt Delay).
const attemptDelay = 250 * time.Millisecond

// Dial opens a connection to a host:port. If the host has several addresses, the first connection
// counts: package net would wait for two seconds at least for an address that does not answer, as that
// of a machine that has ended, before it dials the next.
func Dial(ctx context.Context, d net.Dialer, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return d.DialContext(ctx, "tcp", addr) // its error
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return d.DialContext(ctx, "tcp", addr)
	}
	if d.Timeout > 0 { // of all addresses together
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	ips, err := cmp.Or(d.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip.Unmap().String(), port)
	}
	return first(ctx, d, addrs)
}

// attempt is the outcome of a dial.
type attempt struct {
	conn net.Conn
	err  error
}

// first dials addresses, each when the one before has failed or has not answered for a while, and
// returns the first connection, or the first error if there is none.
func first(ctx context.Context, d net.Dialer, addrs []string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		results = make(chan attempt)
		next    = time.NewTimer(0)
		failed  error
	)
	defer next.Stop()
	for begun, ended := 0, 0; ended < len(addrs); {
		select {
		case <-next.C:
			if begun == len(addrs) {
				continue
			}
			go dial(ctx, d, addrs[begun], results)
			begun++
			next.Reset(attemptDelay)
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			failed = cmp.Or(failed, r.err)
			ended++
			next.Reset(0)
		case <-ctx.Done():
			return nil, cmp.Or(failed, error(&net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}))
		}
	}
	return nil, failed
}

// dial dials an address. Once ctx has ended, its connection is not used.
func dial(ctx context.Context, d net.Dialer, addr string, results chan<- attempt) {
	conn, err := d.DialContext(ctx, "tcp", addr)
	select {
	case results <- attempt{conn, err}:
	case <-ctx.Done():
		if err == nil {
			_ = conn.Close()
		}
	}
}
