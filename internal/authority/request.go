package authority

import (
	"fmt"
	"net"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/security"
)

// Request describes the use of a certificate.
type Request struct {
	Name  string // common name, for people and logs
	Role  security.Role
	Names []security.Pattern // sequencer names; empty = all
	// Hosts are DNS names and IP addresses that members are reached by, besides
	// security.MemberServerName and loopback; other roles have none.
	Hosts []string
	TTL   time.Duration // 0 = one year
}

const (
	maxName  = 64 // bytes in a common name, by RFC 5280
	maxNames = 64
	maxHosts = 64
)

// hostName matches a DNS name, which may begin with a wildcard.
var hostName = regexp.MustCompile(
	`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

// check rejects a request that cannot produce a usable certificate.
func (r Request) check() error {
	if _, err := security.ParseRole(string(r.Role)); err != nil {
		return err
	}
	if err := checkName(r.Name); err != nil {
		return err
	}
	if len(r.Names) > maxNames || len(r.Hosts) > maxHosts {
		return fmt.Errorf("%w: %d names and %d hosts; give at most %d of each", security.ErrInvalid, len(r.Names),
			len(r.Hosts), maxNames)
	}
	if err := security.CheckNames(r.Role, r.Names); err != nil {
		return err
	}
	if len(r.Hosts) > 0 && r.Role != security.Member {
		return fmt.Errorf("%w: hosts %q for the role %s; only members are called, so give none", security.ErrInvalid,
			r.Hosts, r.Role)
	}
	for _, host := range r.Hosts {
		if net.ParseIP(host) == nil && (len(host) > 253 || !hostName.MatchString(host)) {
			return fmt.Errorf("%w: host %.80q is neither a DNS name nor an IP address; give one without a port, such as "+
				"ids.example.org or 10.0.0.1", security.ErrInvalid, host)
		}
	}
	if r.TTL < 0 {
		return fmt.Errorf("%w: the time to live is %v; give a positive one, such as 8760h", security.ErrInvalid, r.TTL)
	}
	return nil
}

// checkName rejects a certificate name that logs and terminals cannot display.
func checkName(name string) error {
	if len(name) > maxName || !utf8.ValidString(name) {
		return fmt.Errorf("%w: name %.80q has %d bytes; give at most %d bytes of UTF-8", security.ErrInvalid, name,
			len(name), maxName)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: name %q has a character that cannot be printed; omit it", security.ErrInvalid, name)
		}
	}
	if fault := spelling.Fault(name); fault != "" {
		return fmt.Errorf("%w: name %q %s; omit it", security.ErrInvalid, name, fault)
	}
	return nil
}
