package wire

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// Origins decides which browser requests a server serves. Otherwise a page from another origin could
// destroy a sequencer through the browser of any user who can reach the server.
type Origins struct {
	// Server begins the errors.
	Server string
	// Loopback means that only this machine reaches the server. A browser that uses a name other than localhost
	// then follows a name made to point here (DNS rebinding), and its pages have the same origin. On other
	// addresses any name may be valid, so this check is skipped.
	Loopback bool

	protection http.CrossOriginProtection
}

// Check returns an error that matches ErrCrossOrigin. Requests from programs, and requests that
// change nothing, pass.
func (o *Origins) Check(r *http.Request) error {
	if err := o.protection.Check(r); err != nil {
		return failure.Errorf(ErrCrossOrigin,
			"%s: %s: %w; call the API from a program, or from a page of the same origin", o.Server, r.URL.Path, err)
	}
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	browser := r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
	if !safe && browser && o.Loopback && !IsLoopback(r.Host) {
		return failure.Errorf(ErrCrossOrigin,
			"%s: %s: a browser asks for host %.100q, and this server is on loopback; use localhost or 127.0.0.1",
			o.Server, r.URL.Path, r.Host)
	}
	return nil
}

// IsLoopback reports whether an address, with a port or without, can only be reached
// from this machine.
func IsLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
