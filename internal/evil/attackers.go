package evil

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

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// Attackers returns one for each kind of credential but a member's. Certificates of the grid's
// authority are for the names given. They dial with nothing until Dial is set.
func Attackers(grid *authority.Authority, now time.Time, names ...security.Pattern) ([]*Attacker, error) {
	foreign, err := authority.New("evil", now, authority.AuthorityTTL)
	if err != nil {
		return nil, err
	}
	old := Trusting(grid)
	old.MaxVersion = tls.VersionTLS12
	out := []*Attacker{
		{Name: "clear text", Refusal: ErrUnwelcome},
		{Name: "no certificate", TLS: Trusting(grid), Refusal: security.ErrUnauthenticated},
		{Name: "TLS 1.2", TLS: old, Refusal: ErrUnwelcome},
	}
	for _, c := range []struct {
		name string
		by   *authority.Authority
		at   time.Time
		role security.Role // that members believe
		is   authority.Request
	}{
		{"a member's certificate of another authority", foreign, now, "",
			authority.Request{Name: "m1", Role: security.Member}},
		{"a member's certificate of last year", grid, now.Add(-366 * 24 * time.Hour), "",
			authority.Request{Name: "m1", Role: security.Member}},
		{"a member's certificate of next year", grid, now.Add(300 * 24 * time.Hour), "",
			authority.Request{Name: "m1", Role: security.Member}},
		{"a reader's certificate", grid, now, security.Reader, authority.Request{Name: "evil", Role: security.Reader,
			Names: names}},
		{"a holder's certificate", grid, now, security.Holder, authority.Request{Name: "evil", Role: security.Holder,
			Names: names}},
	} {
		cert, err := Issue(c.by, c.at, c.is)
		if err != nil {
			return nil, err
		}
		a := &Attacker{Name: c.name, Role: c.role, TLS: Trusting(grid, cert), Refusal: ErrUnwelcome}
		if a.Identified() {
			a.Refusal = security.ErrDenied
		}
		out = append(out, a)
	}
	cert, err := limitedAdmin(grid, now, names)
	if err != nil {
		return nil, err
	}
	out = append(out, &Attacker{Name: "an admin's certificate limited to names", Role: security.Admin, Names: names,
		TLS: Trusting(grid, cert), Refusal: security.ErrDenied})
	if cert, err = signedByHolder(grid, now); err != nil {
		return nil, err
	}
	return append(out, &Attacker{Name: "a member's certificate that a holder signed", TLS: Trusting(grid, cert),
		Refusal: ErrUnwelcome}), nil
}

// Issue returns a new certificate of an authority.
func Issue(by *authority.Authority, now time.Time, r authority.Request) (tls.Certificate, error) {
	text, key, err := by.Issue(r, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(text, key)
}

// limitedAdmin returns a certificate of role admin that is limited to names, as earlier releases
// issued them.
func limitedAdmin(grid *authority.Authority, now time.Time, names []security.Pattern) (tls.Certificate, error) {
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
func signedByHolder(grid *authority.Authority, now time.Time) (tls.Certificate, error) {
	holder, err := Issue(grid, now, authority.Request{Name: "evil", Role: security.Holder})
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
