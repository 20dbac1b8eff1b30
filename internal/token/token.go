// Package token signs and verifies tokens, which replace a certificate for callers of the API over
// HTTP. A token is a JWT (RFC 7519) with an Ed25519 signature:
//
//	header   alg EdDSA, kid the ID of the key
//	claims   iss, sub the name of the caller, aud snowgrid and, for one grid, snowgrid/NAME, iat, nbf, exp, jti,
//	         role reader, holder or admin, and names, patterns of sequencers, if it is limited
//
// Members have only the public keys, so none of them can create a token. A token is a secret: a
// process that has it may act until it expires. No error or log contains a token.
package token

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/security"
)

// maxTTL is the longest that a token is valid: only a new key takes one back.
const maxTTL = 90 * 24 * time.Hour

const (
	audience = "snowgrid"
	// gridAudience precedes the grid name in an audience.
	gridAudience = audience + "/"
	issuer       = "snowgrid secure token"

	maxText  = 8 << 10
	maxName  = 255
	maxNames = 64
	// skew is the maximum difference between the clocks of signers and members.
	skew = time.Minute
)

// Request describes the use of a token.
type Request struct {
	Name  string // the caller's name, for display and logs
	Role  security.Role
	Names []security.Pattern // sequencer names; empty = all
	TTL   time.Duration
	Grid  string // that the token is for; "" = any that has the key
}

type claims struct {
	jwt.RegisteredClaims

	Role  string   `json:"role"`
	Names []string `json:"names,omitempty"`
}

// Signer signs tokens by a private key.
type Signer struct{ key ed25519.PrivateKey }

// LoadSigner reads a private key such as tokens.key. Errors match [security.ErrInvalid].
func LoadSigner(keyFile string) (*Signer, error) {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("%w: the key that signs tokens: %w; give the directory that snowgrid secure init made",
			security.ErrInvalid, err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%w: %s has no private key in PEM", security.ErrInvalid, keyFile)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, isKey := parsed.(ed25519.PrivateKey)
	if err != nil || !isKey {
		return nil, fmt.Errorf("%w: %s is not an Ed25519 private key in PKCS #8", security.ErrInvalid, keyFile)
	}
	return &Signer{key: key}, nil
}

// Sign returns a new token. Errors match [security.ErrInvalid].
func (s *Signer) Sign(r Request, now time.Time) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: r.Name, Audience: jwt.ClaimStrings{audience}, ID: rand.Text(),
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(r.TTL)),
		},
		Role: string(r.Role),
	}
	if r.Grid != "" {
		c.Audience = append(c.Audience, gridAudience+r.Grid)
	}
	for _, n := range r.Names {
		c.Names = append(c.Names, string(n))
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	t.Header["kid"] = security.TokenKeyID(s.key.Public().(ed25519.PublicKey))
	text, err := t.SignedString(s.key)
	if err == nil && len(text) > maxText {
		return "", fmt.Errorf("%w: the token would have %d bytes; give fewer or shorter names, for at most %d",
			security.ErrInvalid, len(text), maxText)
	}
	return text, err
}

// check refuses a token that members would refuse.
func (r Request) check() error {
	if r.TTL <= 0 || r.TTL > maxTTL {
		return fmt.Errorf("%w: the time to live is %v; give at most %v, since a token cannot be taken back before it ends",
			security.ErrInvalid, r.TTL, maxTTL)
	}
	if r.Name == "" || len(r.Name) > maxName || !utf8.ValidString(r.Name) {
		return fmt.Errorf("%w: name %.80q has %d bytes; give 1 to %d bytes of UTF-8", security.ErrInvalid, r.Name,
			len(r.Name), maxName)
	}
	if fault := spelling.Fault(r.Name); fault != "" {
		return fmt.Errorf("%w: name %.80q %s; leave it out", security.ErrInvalid, r.Name, fault)
	}
	if r.Grid != "" {
		if err := security.CheckGrid(r.Grid); err != nil {
			return err
		}
	}
	if err := checkRole(r.Role, r.Names); err != nil {
		return err
	}
	return security.CheckNames(r.Role, r.Names)
}

// checkRole refuses a role or names that a token may not have.
func checkRole(role security.Role, names []security.Pattern) error {
	if _, err := security.ParseRole(string(role)); err != nil {
		return err
	}
	if role == security.Member {
		return fmt.Errorf("%w: no token has the role member; members need a certificate (snowgrid secure issue --role "+
			"member)", security.ErrInvalid)
	}
	if len(names) > maxNames {
		return fmt.Errorf("%w: %d names; give at most %d patterns", security.ErrInvalid, len(names), maxNames)
	}
	for _, n := range names {
		if err := security.CheckPattern(n); err != nil {
			return err
		}
		if !utf8.ValidString(string(n)) {
			return fmt.Errorf("%w: pattern %.40q is not UTF-8", security.ErrInvalid, string(n))
		}
	}
	return nil
}
