// Package security authenticates callers and authorizes their actions. A caller proves its identity
// with a certificate (mutual TLS 1.3) or, over HTTP, with a token. Both assign one role and, if
// limited to some sequencers, name patterns. [Authorize] decides by one table.
//
// A directory made by `snowgrid secure init` or `snowgrid secure issue` has everything that a
// process needs:
//
//	ca.crt                    certificates of the trusted authorities
//	ROLE.crt, ROLE.key        certificate and private key for a role: member, admin, holder, reader
//	gossip.keys               members: gossip keys in base64, one per line; the first encrypts
//	tokens.pub                members: public keys that verify tokens
//	ca.key, tokens.key        only where certificates and tokens are issued
//
// [Credentials] load such a directory. They follow file changes, so that certificates and keys are
// rotated without a restart.
package security

import "errors"

// Errors for a call that its caller may not make. Both name the remedy.
var (
	// ErrDenied means that a caller's role or names do not allow an action.
	ErrDenied = errors.New("security: denied")
	// ErrUnauthenticated means that a caller proved no identity, or one that is not valid here.
	ErrUnauthenticated = errors.New("security: not authenticated")
	// ErrInvalid means that a directory, certificate, key or setting cannot be used.
	ErrInvalid = errors.New("security: invalid")
)
