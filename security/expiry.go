package security

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// Expiry returns the earliest end among this process's certificates; the zero time if it cannot be
// determined.
func (c *Credentials) Expiry() time.Time {
	_, ends := c.validity()
	return ends
}

// ValidFrom returns the latest begin among this process's certificates; the zero time if it cannot be
// determined.
func (c *Credentials) ValidFrom() time.Time {
	begins, _ := c.validity()
	return begins
}

// validity returns when all certificates of this process are valid; zero times if it cannot be determined.
func (c *Credentials) validity() (begins, ends time.Time) {
	if c.cfg.TLS != nil {
		return certificateValidity(c.cfg.TLS)
	}
	if own := c.current.Load().own; own != nil {
		return own.NotBefore, own.NotAfter
	}
	return begins, ends
}

// AuthorityExpiry returns the end of the authority that issued this process's certificate, from
// ca.crt; the zero time if it cannot be determined.
func (c *Credentials) AuthorityExpiry() time.Time { return c.current.Load().issuer }

// certificateValidity returns the latest begin and the earliest end among the certificates that a
// configuration presents; zero if there is none, or they cannot be determined.
func certificateValidity(conf *tls.Config) (begins, ends time.Time) {
	if conf == nil {
		return begins, ends
	}
	certificates := conf.Certificates
	if conf.GetCertificate != nil {
		if c := presented(conf); c != nil {
			certificates = append(certificates[:len(certificates):len(certificates)], *c)
		}
	}
	for i := range certificates {
		c := &certificates[i]
		leaf := c.Leaf
		if leaf == nil && len(c.Certificate) > 0 {
			leaf, _ = x509.ParseCertificate(c.Certificate[0])
		}
		if leaf == nil {
			continue
		}
		if leaf.NotBefore.After(begins) {
			begins = leaf.NotBefore
		}
		if ends.IsZero() || leaf.NotAfter.Before(ends) {
			ends = leaf.NotAfter
		}
	}
	return begins, ends
}

// presented requests a certificate from a configuration's function, as for a client that sends no
// preferences. If the function fails then, the result is nil.
func presented(conf *tls.Config) (c *tls.Certificate) {
	defer func() {
		if recover() != nil {
			c = nil
		}
	}()
	c, err := conf.GetCertificate(&tls.ClientHelloInfo{SupportedVersions: []uint16{tls.VersionTLS13}})
	if err != nil {
		return nil
	}
	return c
}

// worse returns an error if the certificate in use is valid now and the next one is not, or if the next files lack the
// authority of their own certificate and the files in use have theirs. Members have the same authorities, so such files
// in all members would end the grid.
func (c *Credentials) worse(before, next *material) error {
	now := c.cfg.Time()
	if before == nil || invalidAt(before.own, now) != "" {
		return nil
	}
	if why := invalidAt(next.own, now); why != "" {
		return fmt.Errorf("%w: the certificate in %s %s, and the one in use is valid until %s; issue it again (snowgrid "+
			"secure issue), or check this machine's clock", ErrInvalid, c.files.cert, why,
			before.own.NotAfter.UTC().Format(time.RFC3339))
	}
	if next.own != nil && next.issuer.IsZero() && before.issuer.After(now) {
		return fmt.Errorf("%w: %s does not have the authority of the certificate in %s; copy the certificate of the next "+
			"authority before the earlier authority is dropped, and the next authority before its certificates (snowgrid "+
			"secure rotate --help)", ErrInvalid, c.files.authority, c.files.cert)
	}
	return nil
}

// invalidAt returns why a certificate is not valid at a time, "" if it is, or if there is none.
func invalidAt(cert *x509.Certificate, now time.Time) string {
	switch {
	case cert == nil:
	case now.After(cert.NotAfter):
		return "ended at " + cert.NotAfter.UTC().Format(time.RFC3339)
	case now.Before(cert.NotBefore):
		return "is not valid before " + cert.NotBefore.UTC().Format(time.RFC3339)
	}
	return ""
}
