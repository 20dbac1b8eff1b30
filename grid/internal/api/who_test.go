package api

import (
	"net/http/httptest"
	"testing"

	"github.com/snowgrid/snowgrid/security"
)

// TestWhoOfNamesTheProvedIdentity: a caller is its address, and who it proved to be; a
// certificate that is not valid names no caller.
func TestWhoOfNamesTheProvedIdentity(t *testing.T) {
	for name, test := range map[string]struct {
		server *Server
		as     string
		want   string
	}{
		"certificate":              {secured(nil), "admin", `pipe "admin" (cert:admin, role admin)`},
		"certificate with names":   {secured(nil), "orders", `pipe "orders" (cert:orders, role holder, names orders-*)`},
		"no certificate":           {secured(nil), "", "pipe"},
		"expired certificate":      {secured(nil), "expired", "pipe"},
		"without security":         {&Server{}, "", "pipe"},
		"without security, proved": {&Server{}, "admin", "pipe"},
	} {
		r := httptest.NewRequestWithContext(connectedAs(t.Context(), test.as), "POST", "/", nil)
		if got := WhoOf(test.server.identified(r)); got != test.want {
			t.Errorf("%s: the caller is %q, want %q", name, got, test.want)
		}
	}
	if got := WhoOf(t.Context()); got != "this process" {
		t.Errorf("the member's own handle is %q", got)
	}
	if got := PeerOf(t.Context()); got.Role != security.Member {
		t.Errorf("the member's own handle is %+v", got)
	}
	if got := PeerOf(connectedAs(t.Context(), "admin")); got.Role != security.NoRole {
		t.Errorf("a remote caller that was not identified is %+v", got)
	}
}
