package security_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestStatementsThatAreNotUnderstood: a certificate of an authority of one's own that states a
// limit in another spelling has no role, and not one without the limit.
func TestStatementsThatAreNotUnderstood(t *testing.T) {
	const holder, member = "spiffe://snowgrid/role/holder", "spiffe://snowgrid/role/member"
	for _, c := range []struct {
		uris  string
		role  security.Role
		names int
	}{
		{holder, security.Holder, 0},
		{holder + " spiffe://snowgrid/names/orders-%2A", security.Holder, 1},
		{holder + " spiffe://snowgrid/grid/shop", security.Holder, 0},
		{holder + " spiffe://example.org/ns/shop/sa/web", security.Holder, 0},
		{holder + " " + holder, security.Holder, 0},
		{holder + " spiffe://snowgrid/name/orders-%2A", security.NoRole, 0},
		{holder + " spiffe://snowgrid/names/", security.NoRole, 0},
		{holder + " spiffe://Snowgrid/names/orders-%2A", security.NoRole, 0},
		{holder + " spiffe://SNOWGRID/names/orders-%2A", security.NoRole, 0},
		{holder + " spiffe://snowgrid:80/names/orders-%2A", security.NoRole, 0},
		{holder + " spiffe://x@snowgrid/names/orders-%2A", security.NoRole, 0},
		{holder + " spiffe://snowgrid/names/orders-%2A?x", security.NoRole, 0},
		{holder + " spiffe://snowgrid/names/orders-%2A#x", security.NoRole, 0},
		{holder + " spiffe://snowgrid", security.NoRole, 0},
		{holder + " spiffe://snowgrid/", security.NoRole, 0},
		{holder + " spiffe://snowgrid/Names/orders-%2A", security.NoRole, 0},
		{holder + " spiffe://snowgrid//names/orders-%2A", security.NoRole, 0},
		{holder + " spiffe:snowgrid/names/orders", security.Holder, 0}, // no host: it is not ours
		{holder + " spiffe://snowgrid/grid/", security.NoRole, 0},
		{holder + " spiffe://snowgrid/grid/a spiffe://snowgrid/grid/b", security.NoRole, 0},
		{"spiffe://snowgrid/role/Holder", security.NoRole, 0},
		{holder + " " + member, security.NoRole, 0},
	} {
		cert := &x509.Certificate{}
		for uri := range strings.FieldsSeq(c.uris) {
			u, err := url.Parse(uri)
			if err != nil {
				t.Fatal(err)
			}
			cert.URIs = append(cert.URIs, u)
		}
		if p := security.Identity(cert, nil); p.Role != c.role || len(p.Names) != c.names {
			t.Errorf("%s makes %v", c.uris, p)
		}
		// With rules, a certificate is what they say.
		none := []security.Rule{{Match: "dns:*.example.org", Role: security.Reader}}
		if p := security.Identity(cert, none); p.Role != security.NoRole {
			t.Errorf("%s, which no rule matches, makes %v", c.uris, p)
		}
	}
}

// TestLimitedAdmins: the whole grid has no limit to names, so neither has an admin.
func TestLimitedAdmins(t *testing.T) {
	limited := func(r security.Role) security.Peer {
		return security.Peer{Role: r, ID: "cert:1", Names: []security.Pattern{"orders-*"}}
	}
	for _, a := range security.Actions() {
		least, _ := security.Least(a)
		ofGrid := least == security.Member || least == security.Admin && a != security.Destroy
		for _, role := range []security.Role{security.Admin, security.Member} {
			if err := security.Authorize(limited(role), a, ""); errors.Is(err, security.ErrDenied) != (ofGrid ||
				role == security.Admin && least == security.Member) {
				t.Errorf("%s by an %s limited to names: %v", a, role, err)
			}
		}
	}
	if err := security.Authorize(limited(security.Admin), security.Destroy, "orders-1"); err != nil {
		t.Error(err)
	}
	a, err := authority.New("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for role, refused := range map[security.Role]bool{security.Admin: true, security.Member: true, security.Holder: false,
		security.Reader: false} {
		if _, _, err := a.Issue(authority.Request{Name: "x", Role: role, Names: []security.Pattern{"orders-*"}},
			time.Now()); errors.Is(err, security.ErrInvalid) != refused {
			t.Errorf("a certificate of %s with names: %v", role, err)
		}
		rule := security.Rule{Match: "dns:x", Role: role, Names: []security.Pattern{"orders-*"}}
		if err := rule.Check(); errors.Is(err, security.ErrInvalid) != refused {
			t.Errorf("a rule of %s with names: %v", role, err)
		}
	}
}

// TestCredentialsNameTheirGrid: an authority that serves two grids, by mistake or by theft of
// one's certificates, makes no members of the other.
func TestCredentialsNameTheirGrid(t *testing.T) {
	now := time.Now()
	dir := filepath.Join(t.TempDir(), "shop")
	if err := authority.Create(dir, authority.Options{Grid: "shop", Name: "one"}, now); err != nil {
		t.Fatal(err)
	}
	if grid, err := authority.Grid(dir); grid != "shop" || err != nil {
		t.Errorf("the directory is for %q, %v", grid, err)
	}
	creds, err := security.Load(security.Config{Dir: dir}, security.Member)
	if err != nil {
		t.Fatal(err)
	}
	if creds.Grid() != "shop" {
		t.Errorf("the certificate is for %q", creds.Grid())
	}
	if _, err := security.Load(security.Config{Dir: dir, Grid: "bank"}, security.Member); !errors.Is(err,
		security.ErrInvalid) || !strings.Contains(err.Error(), `"shop"`) || !strings.Contains(err.Error(), `"bank"`) {
		t.Errorf("a member of another grid: %v", err)
	}
	// Both trust the authorities of both, so that the names alone decide.
	other := filepath.Join(t.TempDir(), "bank")
	if err := authority.Create(other, authority.Options{Grid: "bank"}, now); err != nil {
		t.Fatal(err)
	}
	var both []byte
	for _, d := range []string{dir, other} {
		text, err := os.ReadFile(filepath.Join(d, security.AuthorityFile))
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, text...)
	}
	for _, d := range []string{dir, other} {
		if err := os.WriteFile(filepath.Join(d, security.AuthorityFile), both, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shop, bank := load(t, dir, security.Member), load(t, other, security.Member)
	holder := load(t, other, security.Holder)
	if _, _, err := meet(t, shop.Server(), holder.Client("m1:1")); err == nil ||
		!strings.Contains(err.Error(), `"shop"`) || !strings.Contains(err.Error(), `"bank"`) {
		t.Errorf("a holder at a member of another grid: %v", err)
	}
	state, serverErr, _ := meet(t, shop.Server(), withoutCheck(bank.Client("m1:1")))
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	if p, err := shop.PeerOf(&state); !errors.Is(err, security.ErrUnauthenticated) ||
		!strings.Contains(err.Error(), `"shop"`) || !strings.Contains(err.Error(), `"bank"`) {
		t.Errorf("a member of another grid is %v, %v", p, err)
	}
	if state, _, err := meet(t, bank.Server(), holder.Client("m1:1")); err != nil {
		t.Errorf("a holder at its own grid: %v", err)
	} else if p, err := bank.PeerOf(&state); err != nil || p.Role != security.Holder || p.Grid != "bank" {
		t.Errorf("at its own grid it is %v of %q, %v", p, p.Grid, err)
	}
}

// withoutCheck returns the configuration of a caller that believes every member.
func withoutCheck(conf *tls.Config) *tls.Config {
	conf.VerifyConnection = nil
	return conf
}
