package security

import (
	"crypto/tls"
	"fmt"
	"time"
)

// Config selects a process's credentials, and the authorities it trusts. Set Dir, or another
// authority's files, or TLS. A member needs none of them if it is Insecure, or has a GossipKey and
// listens on loopback alone: it then speaks clear text.
type Config struct {
	// Dir is a directory made by snowgrid secure init or snowgrid secure issue.
	Dir string
	// Role selects the certificate in Dir: ROLE.crt. "" = member for a member; for other processes
	// the first that exists among holder, admin and reader.
	Role Role

	// CertFile, KeyFile and CAFile are PEM files that replace the files in Dir: the certificate
	// with its chain, its private key, and the trusted authorities.
	CertFile, KeyFile, CAFile string
	// GossipKeysFile and TokensFile replace a member's gossip.keys and tokens.pub in Dir.
	GossipKeysFile, TokensFile string
	// TLS, if not nil, replaces certificates and authorities. A member needs ClientCAs in it.
	// It does not follow files by itself, and its GetConfigForClient is not used.
	TLS *tls.Config

	// GossipKey, 16, 24 or 32 bytes, encrypts a member's gossip in place of the key file; nil = the
	// file's keys, or clear text. It does not follow a file; operators change it with snowgrid keyring.
	GossipKey []byte
	// Insecure lets a member listen beyond loopback without certificates, or without a gossip key:
	// any process that reaches it can do everything.
	Insecure bool

	// Token comes from `snowgrid secure token`; a client sends it instead of a certificate. Only
	// the authorities' certificates are read then. A token expires and is not reloaded:
	// long-running processes should use a certificate.
	Token string

	// Grid is the name of the process's grid; "" = the name in its certificate. Certificates and
	// tokens that name another grid are rejected.
	Grid string

	// Rules assign roles to certificates from an authority that does not declare them. The first
	// matching rule applies. With rules, a certificate without a matching rule has no permissions,
	// whatever it declares.
	Rules []Rule
	// ServerName is a name in all member certificates, verified instead of the dialed host. "" =
	// MemberServerName with Dir, and the host without.
	ServerName string

	// Every is the interval between checks for changed files; 0 = 10 s.
	Every time.Duration
	// Time returns the time that certificates are checked at; nil = time.Now. For tests.
	Time func() time.Time
}

// Check refuses a configuration that cannot work, without reading any file.
func (c Config) Check() error {
	files := c.CertFile != "" || c.KeyFile != "" || c.CAFile != ""
	switch {
	case c.Dir == "" && !files && c.TLS == nil:
		return fmt.Errorf("%w: neither Dir nor CertFile nor TLS is set; give one of them", ErrInvalid)
	case c.TLS != nil && files:
		return fmt.Errorf("%w: TLS and CertFile, KeyFile or CAFile are set; give one or the other", ErrInvalid)
	case (c.CertFile == "") != (c.KeyFile == ""):
		return fmt.Errorf("%w: CertFile is %q and KeyFile is %q; give both or neither", ErrInvalid, c.CertFile, c.KeyFile)
	case c.Token != "" && (c.CertFile != "" || c.TLS != nil):
		return fmt.Errorf("%w: Token and CertFile or TLS are set; give one of them", ErrInvalid)
	case c.Every < 0:
		return fmt.Errorf("%w: Every is %v; give a positive duration, or 0 for 10 s", ErrInvalid, c.Every)
	}
	if c.Grid != "" {
		if err := CheckGrid(c.Grid); err != nil {
			return err
		}
	}
	if c.Role != NoRole {
		if _, err := ParseRole(string(c.Role)); err != nil {
			return err
		}
	}
	for _, r := range c.Rules {
		if err := r.Check(); err != nil {
			return err
		}
	}
	return nil
}
