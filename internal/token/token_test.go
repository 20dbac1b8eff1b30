package token_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/token"
	"github.com/snowgrid/snowgrid/security"
)

// source is the keys of a member.
type source struct {
	keys       []byte
	generation int
	now        time.Time
	grid       string
}

func (s *source) TokenKeys() []byte { return s.keys }
func (s *source) Generation() int   { return s.generation }
func (s *source) Grid() string      { return s.grid }
func (s *source) Now() time.Time    { return s.now }

// issuing returns a signer, its private key, and a verifier with the public one.
func issuing(t *testing.T) (*token.Signer, ed25519.PrivateKey, *source) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	signer, err := token.LoadSigner(filepath.Join(dir, security.TokensKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	private, err := os.ReadFile(filepath.Join(dir, security.TokensKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(private)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(filepath.Join(dir, security.TokensFile))
	if err != nil {
		t.Fatal(err)
	}
	return signer, key.(ed25519.PrivateKey), &source{keys: public, now: time.Now()}
}

func sign(t *testing.T, s *token.Signer, r token.Request, now time.Time) string {
	t.Helper()
	text, err := s.Sign(r, now)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPeerOfAToken(t *testing.T) {
	signer, _, keys := issuing(t)
	text := sign(t, signer, token.Request{Name: "ci", Role: security.Holder, Grid: "g",
		Names: []security.Pattern{"orders-*"}, TTL: time.Hour}, keys.now)
	p, err := token.NewVerifier(keys).Peer(text)
	if err != nil {
		t.Fatal(err)
	}
	if p.Role != security.Holder || p.Name != "ci" || !p.MayUse("orders-1") || p.MayUse("bills") ||
		!strings.HasPrefix(p.ID, "token:") ||
		p.Expires.Sub(keys.now).Round(time.Minute) != time.Hour {
		t.Errorf("the peer is %v, until %v", p, p.Expires)
	}
	other, err := token.NewVerifier(keys).Peer(sign(t, signer,
		token.Request{Name: "ci", Role: security.Reader, TTL: time.Hour}, keys.now))
	if err != nil || other.ID == p.ID || !other.MayUse("bills") {
		t.Errorf("another token: %v, %v", other, err)
	}
}

// TestTokenIsRefused: a token counts only if a known key signed it for this audience, for a
// role that tokens may have and for a limited time; and no error shows it.
func TestTokenIsRefused(t *testing.T) {
	signer, key, keys := issuing(t)
	keys.grid = "g"
	good := sign(t, signer, token.Request{Name: "ci", Role: security.Admin, TTL: time.Hour}, keys.now)
	kid := security.TokenKeyID(key.Public().(ed25519.PublicKey))
	made := func(change func(header, claims map[string]any)) string {
		claims := jwt.MapClaims{
			"sub": "ci", "aud": "snowgrid", "jti": "1", "role": "admin", "iat": keys.now.Unix(),
			"exp": keys.now.Add(time.Hour).Unix(),
		}
		t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		t.Header["kid"] = kid
		change(t.Header, claims)
		text, _ := t.SignedString(key)
		return text
	}
	hmac := func() string { // the public key as the secret of another method
		h := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ci", "aud": "snowgrid", "jti": "1",
			"role": "admin", "exp": keys.now.Add(time.Hour).Unix()})
		h.Header["kid"] = kid
		text, _ := h.SignedString([]byte(key.Public().(ed25519.PublicKey)))
		return text
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"`+kid+`"}`)) + "." +
		strings.Split(good, ".")[1] + "."
	_, strange, _ := ed25519.GenerateKey(rand.Reader)
	foreign := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"sub": "ci", "aud": "snowgrid", "jti": "1",
		"role": "admin", "exp": keys.now.Add(time.Hour).Unix()})
	foreign.Header["kid"] = kid
	byAnother, _ := foreign.SignedString(strange)
	parts := strings.Split(good, ".")
	for _, c := range []struct{ what, text, says string }{
		{"nothing", "", "not a token"},
		{"a word", "secret", "not a token"},
		{"too long", strings.Repeat("x", 9<<10), "9216 bytes"},
		{"no signature method", none, "signature"},
		{"a symmetric method", hmac(), "signature"},
		{"another key's signature", byAnother, "signature"},
		{"changed claims", parts[0] + "." +
			base64.RawURLEncoding.EncodeToString(
				[]byte(`{"aud":"snowgrid","role":"admin","sub":"x","jti":"1","exp":4000000000}`)) + "." + parts[2], "signature"},
		{"an unknown key", made(func(h, _ map[string]any) { h["kid"] = "0011223344556677" }), "not in tokens.pub"},
		{"no key ID", made(func(h, _ map[string]any) { delete(h, "kid") }), "not in tokens.pub"},
		{"an extension that must be understood", made(func(h, _ map[string]any) { h["crit"] = []string{"x"} }),
			"not in tokens.pub"},
		{"another audience", made(func(_, c map[string]any) { c["aud"] = "shop" }), "audience"},
		{"no audience", made(func(_, c map[string]any) { delete(c, "aud") }), "lacks"},
		{"no end", made(func(_, c map[string]any) { delete(c, "exp") }), "no end"},
		{"a year", made(func(_, c map[string]any) { c["exp"] = keys.now.Add(365 * 24 * time.Hour).Unix() }), "shorter"},
		{"ended", made(func(_, c map[string]any) { c["exp"] = keys.now.Add(-2 * time.Minute).Unix() }), "ended at"},
		{"ended a second ago", made(func(_, c map[string]any) { c["exp"] = keys.now.Add(-time.Second).Unix() }), "ended at"},
		{"of another grid", made(func(_, c map[string]any) { c["aud"] = []string{"snowgrid", "snowgrid/other"} }),
			`for the grid "other", and this member is of the grid "g"`},
		{"not yet valid", made(func(_, c map[string]any) { c["nbf"] = keys.now.Add(2 * time.Minute).Unix() }), "clocks"},
		{"role member", made(func(_, c map[string]any) { c["role"] = "member" }), "no token has the role member"},
		{"no role", made(func(_, c map[string]any) { delete(c, "role") }), "role"},
		{"an empty name", made(func(_, c map[string]any) { c["names"] = []string{""} }), "pattern"},
		{"names of another type", made(func(_, c map[string]any) { c["names"] = "orders-*" }), "not a token"},
		{"no ID", made(func(_, c map[string]any) { delete(c, "jti") }), "jti"},
	} {
		p, err := token.NewVerifier(keys).Peer(c.text)
		if !errors.Is(err, security.ErrUnauthenticated) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v; the error should say %q", c.what, p, err, c.says)
			continue
		}
		if len(c.text) > 40 && strings.Contains(err.Error(), c.text[:40]) {
			t.Errorf("%s: the error shows the token", c.what)
		}
	}
	if _, err := token.NewVerifier(keys).Peer(made(func(_, _ map[string]any) {})); err != nil {
		t.Errorf("the token that the others are made of: %v", err)
	}
	if _, err := token.NewVerifier(keys).Peer(made(func(_, c map[string]any) {
		c["nbf"], c["iat"] = keys.now.Add(30*time.Second).Unix(), keys.now.Add(30*time.Second).Unix()
	})); err != nil {
		t.Errorf("a clock that is half a minute behind: %v", err)
	}
}

// TestTokenOfALimitedAdmin: a token of an admin with names, as earlier releases signed them, is for these
// names alone, and for no action on the whole grid.
func TestTokenOfALimitedAdmin(t *testing.T) {
	_, key, keys := issuing(t)
	limited := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"sub": "ci", "aud": "snowgrid", "jti": "1", "role": "admin", "names": []string{"orders-*"},
		"iat": keys.now.Unix(), "exp": keys.now.Add(time.Hour).Unix(),
	})
	limited.Header["kid"] = security.TokenKeyID(key.Public().(ed25519.PublicKey))
	text, err := limited.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	p, err := token.NewVerifier(keys).Peer(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range security.Actions() {
		least, _ := security.Least(a)
		ofGrid := least == security.Admin && a != security.Destroy || least == security.Member
		if err := security.Authorize(p, a, ""); errors.Is(err, security.ErrDenied) != ofGrid {
			t.Errorf("%s: %v", a, err)
		}
		if err := security.Authorize(p, a, "bills-1"); least != security.NoRole && !errors.Is(err, security.ErrDenied) {
			t.Errorf("%s of bills-1: %v", a, err)
		}
		if err := security.Authorize(p, a, "orders-1"); !ofGrid && err != nil {
			t.Errorf("%s of orders-1: %v", a, err)
		}
	}
}

// TestVerifierFollowsTheKeys: with the next generation of keys an earlier key counts no longer.
func TestVerifierFollowsTheKeys(t *testing.T) {
	first, _, keys := issuing(t)
	second, _, later := issuing(t)
	v := token.NewVerifier(keys)
	r := token.Request{Name: "ci", Role: security.Reader, TTL: time.Hour}
	old, fresh := sign(t, first, r, keys.now), sign(t, second, r, keys.now)
	check := func(when string, oldCounts, freshCounts bool) {
		t.Helper()
		_, errOld := v.Peer(old)
		_, errFresh := v.Peer(fresh)
		if (errOld == nil) != oldCounts || (errFresh == nil) != freshCounts {
			t.Errorf("%s: %v, %v", when, errOld, errFresh)
		}
	}
	check("first", true, false)
	keys.keys, keys.generation = append(append([]byte{}, later.keys...), keys.keys...), 1
	check("both", true, true)
	keys.keys, keys.generation = later.keys, 2
	check("the second", false, true)
	keys.keys, keys.generation = nil, 3
	check("none", false, false)
}

func TestSignRefuses(t *testing.T) {
	signer, _, keys := issuing(t)
	for what, r := range map[string]token.Request{
		"at most 2160h":        {Name: "ci", Role: security.Reader, TTL: 91 * 24 * time.Hour},
		"is 0s":                {Name: "ci", Role: security.Reader},
		"role member":          {Name: "ci", Role: security.Member, TTL: time.Hour},
		"role \"\"":            {Name: "ci", TTL: time.Hour},
		"1 to 255":             {Role: security.Reader, TTL: time.Hour},
		"U+FE0F at position 3": {Name: "ci\ufe0f", Role: security.Reader, TTL: time.Hour},
		"whole grid":           {Name: "ci", Role: security.Admin, Names: []security.Pattern{"orders-*"}, TTL: time.Hour},
		"pattern":              {Name: "ci", Role: security.Reader, Names: []security.Pattern{""}, TTL: time.Hour},
		"9": {Name: "ci", Role: security.Reader, TTL: time.Hour, Names: func() (out []security.Pattern) {
			for range 64 {
				out = append(out, security.Pattern(strings.Repeat("x", 255)))
			}
			return out
		}()},
	} {
		if _, err := signer.Sign(r, keys.now); !errors.Is(err, security.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
