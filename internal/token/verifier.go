package token

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/snowgrid/snowgrid/security"
)

// Source has the public keys that tokens are checked with: [security.Credentials].
type Source interface {
	TokenKeys() []byte // PEM; nil = none
	Generation() int   // changes with the keys
	Grid() string      // the name of the grid, "" if it is not known
	Now() time.Time
}

// Verifier verifies tokens with a source's current keys. Its methods are safe for concurrent use.
type Verifier struct {
	source Source
	parser *jwt.Parser
	cached atomic.Pointer[keySet]
}

// keySet is one generation of the source's keys.
type keySet struct {
	generation int
	keys       map[string]ed25519.PublicKey
	err        error
}

// NewVerifier returns a verifier.
func NewVerifier(source Source) *Verifier {
	return &Verifier{source: source, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithExpirationRequired(), jwt.WithAudience(audience),
		jwt.WithLeeway(skew), jwt.WithIssuedAt(), jwt.WithTimeFunc(source.Now), jwt.WithStrictDecoding(),
	)}
}

// Peer returns the caller identified by a token. Errors match [security.ErrUnauthenticated] and do
// not contain the token.
func (v *Verifier) Peer(text string) (security.Peer, error) {
	if len(text) > maxText {
		return security.Peer{}, refused(fmt.Sprintf("the token has %d bytes, more than %d; use one of snowgrid secure token",
			len(text), maxText))
	}
	set := v.keys()
	if set.err != nil {
		return security.Peer{}, refused(bare(set.err))
	}
	var c claims
	_, err := v.parser.ParseWithClaims(text, &c, set.find)
	if err != nil {
		return security.Peer{}, refused(reason(err, c))
	}
	names := make([]security.Pattern, 0, len(c.Names))
	for _, n := range c.Names {
		names = append(names, security.Pattern(n))
	}
	role := security.Role(c.Role)
	if err := checkRole(role, names); err != nil {
		return security.Peer{}, refused(bare(err))
	}
	expires := c.ExpiresAt.Time
	switch {
	case !v.source.Now().Before(expires): // clocks that differ are for its begin alone
		return security.Peer{}, refused(reason(jwt.ErrTokenExpired, c))
	case expires.Sub(v.source.Now()) > maxTTL+skew:
		return security.Peer{}, refused(fmt.Sprintf("the token ends at %s, in more than %v; use one with a shorter time",
			expires.UTC().Format(time.RFC3339), maxTTL))
	case c.ID == "" || len(c.ID) > maxName || c.Subject == "" || len(c.Subject) > maxName:
		return security.Peer{}, refused(fmt.Sprintf("the token has no ID (jti) or no subject (sub), or one of more than %d "+
			"bytes; use one of snowgrid secure token", maxName))
	}
	p := security.Peer{Role: role, Names: names, Name: c.Subject, ID: "token:" + c.ID, Expires: expires}
	isGrid := func(audience string) bool { return strings.HasPrefix(audience, gridAudience) }
	if i := slices.IndexFunc(c.Audience, isGrid); i >= 0 {
		p.Grid = strings.TrimPrefix(c.Audience[i], gridAudience)
	}
	if own := v.source.Grid(); p.Grid != "" && own != "" && !slices.Contains(c.Audience, gridAudience+own) {
		return security.Peer{}, refused(fmt.Sprintf("the token is for the grid %q, and this member is of the grid %q; use "+
			"one of the directory of this grid (snowgrid secure token)", p.Grid, own))
	}
	return p, nil
}

func (v *Verifier) keys() *keySet {
	generation := v.source.Generation()
	if set := v.cached.Load(); set != nil && set.generation == generation {
		return set
	}
	set := &keySet{generation: generation}
	if text := v.source.TokenKeys(); len(text) == 0 {
		set.err = fmt.Errorf("this member checks no tokens, since it has no %s; use a certificate, or give the member that "+
			"file", security.TokensFile)
	} else {
		set.keys, _, set.err = security.ParseTokenKeys(text)
	}
	v.cached.Store(set)
	return set
}

var errUnknownKey = errors.New("unknown key")

func (s *keySet) find(t *jwt.Token) (any, error) {
	id, _ := t.Header["kid"].(string)
	key, known := s.keys[id]
	if _, critical := t.Header["crit"]; !known || critical {
		return nil, errUnknownKey
	}
	return key, nil
}

// reason describes why a token is refused, with the remedy.
func reason(err error, c claims) string {
	switch {
	case errors.Is(err, errUnknownKey):
		return "the token is signed by a key that is not in " + security.TokensFile +
			" of this member; use one that the present key signed (snowgrid secure token), or copy the file to the member"
	case errors.Is(err, jwt.ErrTokenSignatureInvalid), errors.Is(err, jwt.ErrTokenUnverifiable):
		return "the signature of the token is not valid; use one of snowgrid secure token, unchanged"
	case errors.Is(err, jwt.ErrTokenExpired):
		return fmt.Sprintf("the token ended at %s; make a new one with snowgrid secure token",
			c.ExpiresAt.UTC().Format(time.RFC3339))
	case errors.Is(err, jwt.ErrTokenNotValidYet), errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return "the token is not valid yet; check the clocks"
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "the token is for another audience than " + audience + "; use one of snowgrid secure token"
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return "the token has no end (exp), or lacks another claim; use one of snowgrid secure token"
	}
	return "this is not a token; use one of snowgrid secure token, unchanged"
}

// bare returns an error's text without its kind.
func bare(err error) string { return strings.TrimPrefix(err.Error(), security.ErrInvalid.Error()+": ") }

// refused returns the error for a rejected token.
func refused(reason string) error {
	return fmt.Errorf("%w: %s", security.ErrUnauthenticated, reason)
}
