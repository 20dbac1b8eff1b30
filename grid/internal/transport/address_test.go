package transport_test

import (
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
)

// TestAdvertised: a member advertises an IP that leads to it from other machines. A link-local IPv6 address needs the
// interface of the machine that dials, so it is none, whether it is bound or stated.
func TestAdvertised(t *testing.T) {
	for _, c := range []struct{ bound, host, want, refused string }{
		{"10.0.0.1:7", "", "10.0.0.1:7", ""},
		{"[2001:db8::1]:7", "", "[2001:db8::1]:7", ""},
		{"[fd00::1]:7", "", "[fd00::1]:7", ""},
		{"[::ffff:10.0.0.1]:7", "", "10.0.0.1:7", ""},
		{"169.254.3.4:7", "", "169.254.3.4:7", ""}, // without an interface
		{"[fe80::1%eth0]:7", "10.0.0.1", "10.0.0.1:7", ""},
		{"[fe80::1%eth0]:7", "", "", "fe80::1%eth0 is a link-local address"},
		{"[::]:7", "fe80::1", "", "fe80::1 is a link-local address"},
	} {
		at, err := transport.Advertised(t.Context(), transport.Sockets{}, c.bound, c.host)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s for %q: %v, %v, want %s", c.bound, c.host, at, err, c.refused)
			}
		} else if err != nil || at.String() != c.want {
			t.Errorf("%s for %q: %v, %v, want %s", c.bound, c.host, at, err, c.want)
		}
	}
}
