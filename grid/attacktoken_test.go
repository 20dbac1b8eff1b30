package grid_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"

	certificates "github.com/snowgrid/snowgrid/internal/authority"
)

// limitedAdmin returns a token of an admin with names, which no command signs any longer.
func limitedAdmin(t *testing.T, dir string, names ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, security.TokensKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key := parsed.(ed25519.PrivateKey)
	claims := jwt.MapClaims{"sub": "ci", "aud": "snowgrid", "jti": "1", "role": "admin",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	if len(names) > 0 {
		claims["names"] = names
	}
	signed := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	signed.Header["kid"] = security.TokenKeyID(key.Public().(ed25519.PublicKey))
	out, err := signed.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tokenCaller makes requests with a token and without a certificate.
type tokenCaller struct {
	t    *testing.T
	http *http.Client
	addr string
}

func newTokenCaller(t *testing.T, dir, addr string) *tokenCaller {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(dir, security.AuthorityFile))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: security.MemberServerName}}
	t.Cleanup(transport.CloseIdleConnections)
	return &tokenCaller{t, &http.Client{Transport: transport, Timeout: 10 * time.Second}, addr}
}

// do makes a request, and returns its status and answer.
func (c *tokenCaller) do(token, method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "https://"+c.addr+path,
		bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.JSON)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestAttackByATokenOfALimitedAdmin: over the HTTP API, a token of an admin with names is denied every
// action on the whole grid, and those on other names, whatever the body states.
func TestAttackByATokenOfALimitedAdmin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "security")
	if err := certificates.Create(dir, certificates.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	m := startOne(t, func(c *grid.Config) { c.Security = &security.Config{Dir: dir} })
	call := newTokenCaller(t, dir, m.Addrs().API)
	limited, admin := limitedAdmin(t, dir, "orders-*"), limitedAdmin(t, dir)

	denied := 0
	for _, row := range api.Rows() {
		method, path, _ := strings.Cut(row, " ")
		action, _ := api.ActionOf(method, path)
		least, _ := security.Least(action)
		ofGrid := least == security.Member || least == security.Admin && action != security.Destroy
		if !ofGrid && path != wire.PathSettings || method != http.MethodPost {
			continue
		}
		body := "{}"
		if path == wire.PathSettings {
			body = `{"quotas":[{"pattern":"bills-*","names":1}]}` // without a change it reads them
		}
		if status, text := call.do(limited, method, path, body); status != http.StatusForbidden {
			if status != http.StatusNotFound { // the paths of Debug
				t.Errorf("%s: %d %s", row, status, text)
			}
			continue
		}
		denied++
	}
	if denied < 20 {
		t.Errorf("only %d paths were denied", denied)
	}

	for _, name := range []string{"orders-1", "bills-1"} {
		body := `{"name":"` + name + `"}`
		want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[strings.HasPrefix(name, "orders-")]
		if status, text := call.do(admin, http.MethodPost, wire.PathCreate, body); status != http.StatusOK {
			t.Fatalf("%s by an admin: %d %s", name, status, text)
		}
		if status, text := call.do(limited, http.MethodPost, wire.PathDestroy, body); status != want {
			t.Errorf("destroy of %s: %d %s, want %d", name, status, text, want)
		}
	}
	if q := m.Status().Quotas; len(q) != 0 {
		t.Errorf("quotas %v", q)
	}
}
