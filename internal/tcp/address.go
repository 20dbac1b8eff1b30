package tcp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckAddr refuses an address that no server can have, without the address in the error. Port 0 is accepted, since
// dialers without a network may use it.
func CheckAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.New("this is not host:port, such as 127.0.0.1:7948")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("the port is %.20q; give 1 to 65535", port)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Zone()
	}
	if i := strings.IndexFunc(host, foreign); i >= 0 {
		r, _ := utf8.DecodeRuneInString(host[i:])
		return fmt.Errorf("the host has the character %q; give an IP or a DNS name", r)
	}
	return nil
}

// foreign reports whether no host name has a character, or a URL would not have it in the host.
func foreign(r rune) bool {
	return r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) ||
		strings.ContainsRune(`/?#@\,%:[]{}<>^"|`+"`", r)
}

// URL returns the URL of a path at a host:port. The zone of an IPv6 address is escaped.
func URL(scheme, addr, pathAndQuery string) string {
	return (&url.URL{Scheme: scheme, Host: addr}).String() + pathAndQuery
}
