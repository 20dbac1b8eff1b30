package main

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestCommandsUseNoProxy: HTTP_PROXY of a company's network is for the way out of it, and
// reaches no member.
func TestCommandsUseNoProxy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*security.Config{"clear text": nil, "TLS": {Dir: dir, Role: security.Admin}} {
		a, err := openAccess(cfg)
		if err != nil {
			t.Fatal(err)
		}
		transport, own := a.http.Transport.(*http.Transport)
		if !own || transport.Proxy != nil || a.http.CheckRedirect == nil {
			t.Errorf("%s: calls to members go through a proxy, or elsewhere by a redirect", name)
		}
	}
}
