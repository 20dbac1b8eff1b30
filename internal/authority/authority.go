// Package authority issues certificates as a small private authority, for `snowgrid secure`. Keys
// are ECDSA P-256, certificates X.509, both from the standard library.
package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/security"
)

// Certificate validity, unless a request sets it.
const (
	AuthorityTTL   = 10 * 365 * 24 * time.Hour
	certificateTTL = 365 * 24 * time.Hour
	// skew is the time by which a certificate begins before it is issued, for slow clocks.
	skew = 5 * time.Minute
)

// Every member certificate contains memberNames and loopback.
var (
	memberNames = []string{security.MemberServerName, "localhost"}
	loopback    = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
)

// Authority issues certificates.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// New returns an authority with a new key, valid for ttl from now on.
func New(name string, now time.Time, ttl time.Duration) (*Authority, error) {
	return NewOf("", name, now, ttl)
}

// NewOf returns an authority like New, with certificates for one grid: other grids reject them.
// With grid "" the certificates are valid in every grid.
func NewOf(grid, name string, now time.Time, ttl time.Duration) (*Authority, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	var uris []*url.URL
	if grid != "" {
		if err := security.CheckGrid(grid); err != nil {
			return nil, err
		}
		if fault := spelling.Fault(grid); fault != "" { // a grid of that name is not formed
			return nil, fmt.Errorf("%w: grid %.80q %s; leave it out", security.ErrInvalid, grid, fault)
		}
		uris = []*url.URL{security.GridURI(grid)}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(ttl),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		URIs: uris,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key}, nil
}

// Load reads an authority from its PEM files. If the file has several certificates, it uses the one
// that matches the key.
func Load(certFile, keyFile string) (*Authority, error) {
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("%w: the authority's private key: %w", security.ErrInvalid, err)
	}
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil, fmt.Errorf("%w: %s has no private key in PEM", security.ErrInvalid, keyFile)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", security.ErrInvalid, keyFile, err)
	}
	key, signs := parsed.(crypto.Signer)
	if !signs {
		return nil, fmt.Errorf("%w: the key in %s cannot sign", security.ErrInvalid, keyFile)
	}
	rest, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("%w: the authority's certificate: %w", security.ErrInvalid, err)
	}
	for {
		if block, rest = pem.Decode(rest); block == nil {
			return nil, fmt.Errorf("%w: %s has no certificate for the key in %s", security.ErrInvalid, certFile, keyFile)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", security.ErrInvalid, certFile, err)
		}
		if public, ok := cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(key.Public()) {
			return &Authority{cert: cert, key: key}, nil
		}
	}
}

// Grid returns the grid name in the authority's certificates, "" for any.
func (a *Authority) Grid() string { return security.GridOf(a.cert) }

// Certificate returns the authority's own certificate in PEM.
func (a *Authority) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Key returns the authority's private key in PEM (PKCS #8).
func (a *Authority) Key() ([]byte, error) { return keyPEM(a.key) }

// Issue returns a certificate and its new private key in PEM. It ends with the authority's own
// at the latest.
func (a *Authority) Issue(r Request, now time.Time) (certPEM, privateKey []byte, err error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	if r.TTL == 0 {
		r.TTL = certificateTTL
	}
	until := now.Add(r.TTL)
	if until.After(a.cert.NotAfter) {
		until = a.cert.NotAfter
	}
	if !until.After(now) {
		return nil, nil, fmt.Errorf("%w: the authority's certificate ended at %s; make a new one with snowgrid secure rotate",
			security.ErrInvalid, a.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: r.Name}, NotBefore: now.Add(-skew), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true, URIs: security.URIs(r.Role, r.Names),
	}
	if grid := a.Grid(); grid != "" {
		template.URIs = append(template.URIs, security.GridURI(grid))
	}
	if r.Role == security.Member {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames, template.IPAddresses = slices.Clone(memberNames), slices.Clone(loopback)
		for _, host := range r.Hosts {
			if ip := net.ParseIP(host); ip != nil {
				template.IPAddresses = append(template.IPAddresses, ip)
			} else {
				template.DNSNames = append(template.DNSNames, host)
			}
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	if privateKey, err = keyPEM(key); err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), privateKey, nil
}

func keyPEM(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// serial returns a random 127-bit serial number.
func serial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}
