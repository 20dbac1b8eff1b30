// Package security says who a caller is, and what it may do. A caller proves who it is by a
// certificate (mutual TLS 1.3) or, over HTTP, by a token. Either gives it one role and, if it
// is limited to some sequencers, patterns of their names. [Authorize] decides by one table.
//
// A directory made by `snowgrid secure init` or `snowgrid secure issue` has everything that a
// process needs:
//
//	ca.crt                    the certificates of the authorities that are trusted
//	ROLE.crt, ROLE.key        certificate and private key of a role: member, admin, holder, reader
//	gossip.keys               members: keys of the gossip in base64, one a line; the first encrypts
//	tokens.pub                members: public keys that tokens are checked with
//	ca.key, tokens.key        only where certificates and tokens are issued
//
// [Credentials] are such a directory at work. They follow changes of the files, so that
// certificates and keys are rotated without a restart.
package security

import "errors"

// Errors of a call that its caller may not make. Both name the remedy.
var (
	// ErrDenied says that the role or the names of a caller do not allow an action.
	ErrDenied = errors.New("security: denied")
	// ErrUnauthenticated says that a caller proved no identity, or one that is not valid here.
	ErrUnauthenticated = errors.New("security: not authenticated")
	// ErrInvalid says that a directory, certificate, key or setting cannot be used.
	ErrInvalid = errors.New("security: invalid")
)
