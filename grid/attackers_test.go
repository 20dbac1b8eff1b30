package grid_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	pki "github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/security"
)

// attackersOf returns one for each kind of credential but a member's. Certificates of the grid's
// authority are for the names given. They dial with nothing until Dial is set.
func attackersOf(grid *pki.Authority, now time.Time, names ...security.Pattern) ([]*evil.Attacker, error) {
	foreign, err := pki.New("evil", now, pki.AuthorityTTL)
	if err != nil {
		return nil, err
	}
	old := evil.Trusting(grid)
	old.MaxVersion = tls.VersionTLS12
	out := []*evil.Attacker{
		{Name: "clear text", Refusal: evil.ErrUnwelcome},
		{Name: "no certificate", TLS: evil.Trusting(grid), Refusal: security.ErrUnauthenticated},
		{Name: "TLS 1.2", TLS: old, Refusal: evil.ErrUnwelcome},
	}
	for _, c := range []struct {
		name string
		by   *pki.Authority
		at   time.Time
		role security.Role // that members believe
		is   pki.Request
	}{
		{"a member's certificate of another authority", foreign, now, "",
			pki.Request{Name: "m1", Role: security.Member}},
		{"a member's certificate of last year", grid, now.Add(-366 * 24 * time.Hour), "",
			pki.Request{Name: "m1", Role: security.Member}},
		{"a member's certificate of next year", grid, now.Add(300 * 24 * time.Hour), "",
			pki.Request{Name: "m1", Role: security.Member}},
		{"a reader's certificate", grid, now, security.Reader, pki.Request{Name: "evil", Role: security.Reader,
			Names: names}},
		{"a holder's certificate", grid, now, security.Holder, pki.Request{Name: "evil", Role: security.Holder,
			Names: names}},
	} {
		cert, err := evil.Issue(c.by, c.at, c.is)
		if err != nil {
			return nil, err
		}
		a := &evil.Attacker{Name: c.name, Role: c.role, TLS: evil.Trusting(grid, cert), Refusal: evil.ErrUnwelcome}
		if a.Identified() {
			a.Refusal = security.ErrDenied
		}
		out = append(out, a)
	}
	cert, err := limitedAdminCert(grid, now, names)
	if err != nil {
		return nil, err
	}
	out = append(out, &evil.Attacker{Name: "an admin's certificate limited to names", Role: security.Admin, Names: names,
		TLS: evil.Trusting(grid, cert), Refusal: security.ErrDenied})
	if cert, err = signedByHolder(grid, now); err != nil {
		return nil, err
	}
	return append(out, &evil.Attacker{Name: "a member's certificate that a holder signed", TLS: evil.Trusting(grid, cert),
		Refusal: evil.ErrUnwelcome}), nil
}

// limitedAdminCert returns a certificate of role admin that is limited to names, as earlier releases
// issued them.
func limitedAdminCert(grid *pki.Authority, now time.Time, names []security.Pattern) (tls.Certificate, error) {
	text, err := grid.Key()
	if err != nil {
		return tls.Certificate{}, err
	}
	own, err := tls.X509KeyPair(grid.Certificate(), text)
	if err != nil {
		return tls.Certificate{}, err
	}
	return signed(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "evil"}, NotBefore: now.Add(-time.Minute),
		NotAfter:    now.Add(365 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, URIs: security.URIs(security.Admin, names),
	}, own.Leaf, own.PrivateKey)
}

// signed returns a certificate with a new key, signed by a parent's key.
func signed(template, parent *x509.Certificate, by any) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// signedByHolder returns a certificate of role member that the key of a holder signed.
func signedByHolder(grid *pki.Authority, now time.Time) (tls.Certificate, error) {
	holder, err := evil.Issue(grid, now, pki.Request{Name: "evil", Role: security.Holder})
	if err != nil {
		return tls.Certificate{}, err
	}
	parent, err := x509.ParseCertificate(holder.Certificate[0])
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := signed(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "m1"}, NotBefore: now.Add(-time.Minute),
		NotAfter:    now.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{security.MemberServerName},
		URIs:        security.URIs(security.Member, nil),
	}, parent, holder.PrivateKey)
	cert.Certificate = append(cert.Certificate, holder.Certificate[0])
	if block, _ := pem.Decode(grid.Certificate()); block != nil {
		cert.Certificate = append(cert.Certificate, block.Bytes)
	}
	return cert, err
}
