package security

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// Expiry returns when the first of this process's certificates ends; the zero time if that is
// not known.
func (c *Credentials) Expiry() time.Time {
	if c.cfg.TLS != nil {
		return certificateExpiry(c.cfg.TLS)
	}
	if own := c.current.Load().own; own != nil {
		return own.NotAfter
	}
	return time.Time{}
}

// AuthorityExpiry returns when the authority of this process's certificate ends, by the
// certificate of it in ca.crt; the zero time if that is not known.
func (c *Credentials) AuthorityExpiry() time.Time { return c.current.Load().issuer }

// certificateExpiry returns when the first certificate ends that a configuration presents;
// zero if there is none, or it cannot be told.
func certificateExpiry(conf *tls.Config) (first time.Time) {
	if conf == nil {
		return first
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
		if leaf != nil && (first.IsZero() || leaf.NotAfter.Before(first)) {
			first = leaf.NotAfter
		}
	}
	return first
}

// presented asks a configuration's function for a certificate, as for a client that says
// nothing of itself. A function that cannot serve that tells no certificate.
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
