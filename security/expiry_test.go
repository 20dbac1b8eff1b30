package security

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

// TestCertificateExpiry: the certificate that ends first counts, of those that the
// configuration has and that its function presents; a function that fails tells none.
func TestCertificateExpiry(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	ends := func(days int) tls.Certificate {
		return tls.Certificate{Leaf: &x509.Certificate{NotAfter: at.AddDate(0, 0, days)}}
	}
	presents := func(days int) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c := ends(days)
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c, nil }
	}
	tests := map[string]struct {
		conf *tls.Config
		want time.Time
	}{
		"none":        {nil, time.Time{}},
		"without any": {&tls.Config{}, time.Time{}},
		"the first":   {&tls.Config{Certificates: []tls.Certificate{ends(9), ends(5)}}, at.AddDate(0, 0, 5)},
		"one presented": {&tls.Config{Certificates: []tls.Certificate{ends(9)}, GetCertificate: presents(3)},
			at.AddDate(0, 0, 3)},
		"a panic": {&tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate,
			error) {
			panic(h.Conn.RemoteAddr())
		}}, time.Time{}},
		"not a leaf":     {&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{{1}}}}}, time.Time{}},
		"nothing at all": {&tls.Config{Certificates: []tls.Certificate{{}}}, time.Time{}},
		"presents none": {&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return nil,
				nil
		}}, time.Time{}},
	}
	for name, test := range tests {
		if _, got := certificateValidity(test.conf); !got.Equal(test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestValidFrom: of several certificates the one that begins last counts.
func TestValidFrom(t *testing.T) {
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	var conf tls.Config
	for _, days := range []int{3, 9, 5} {
		conf.Certificates = append(conf.Certificates,
			tls.Certificate{Leaf: &x509.Certificate{NotBefore: at.AddDate(0, 0, days), NotAfter: at.AddDate(1, 0, 0)}})
	}
	for c, want := range map[*Credentials]time.Time{
		{cfg: Config{TLS: &conf}}: at.AddDate(0, 0, 9), {cfg: Config{TLS: &tls.Config{}}}: {},
	} {
		if got := c.ValidFrom(); !got.Equal(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
