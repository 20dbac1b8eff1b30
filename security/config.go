package security

import (
	"crypto/tls"
	"fmt"
	"time"
)

// Config names the credentials of a process, and whom it trusts. Give Dir, or the
// files of another authority, or TLS.
type Config struct {
	// Dir is a directory made by snowgrid secure init or snowgrid secure issue.
	Dir string
	// Role picks the certificate in Dir: ROLE.crt. "" = member for a member, and for any
	// other process the first of holder, admin and reader that is there.
	Role Role

	// CertFile, KeyFile and CAFile are PEM files in place of those in Dir: the certificate
	// with its chain, its private key, and the authorities that are trusted.
	CertFile, KeyFile, CAFile string
	// GossipKeysFile and TokensFile are those of a member in place of gossip.keys and
	// tokens.pub in Dir.
	GossipKeysFile, TokensFile string
	// TLS, if not nil, replaces certificates and authorities. A member needs ClientCAs in it.
	// It does not follow files by itself, and its GetConfigForClient is not used.
	TLS *tls.Config

	// Token is a token of `snowgrid secure token`, which a client sends in place of a
	// certificate. Only the certificates of the authorities are read then. A token ends,
	// and is not followed: for a process that runs for long a certificate is better.
	Token string

	// Grid is the name of the grid that this process is of; "" = the one that its certificate
	// names. A certificate or token that names another grid is refused.
	Grid string

	// Rules give roles to certificates of an authority that states none in them. The first
	// that matches counts. With rules, a certificate that none matches may do nothing,
	// whatever it states.
	Rules []Rule
	// ServerName is a name that the certificates of all members have, checked in place of
	// the host that is dialed. "" = MemberServerName with Dir, and the host without.
	ServerName string

	// Every is how often the files are looked at for changes; 0 = 10 s.
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
