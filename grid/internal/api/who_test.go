package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"testing"
)

// TestWhoOfNamesTheVerifiedCertificate: a caller is its address, and the subject of its
// certificate if that was verified; a certificate that nothing verified names no caller.
func TestWhoOfNamesTheVerifiedCertificate(t *testing.T) {
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "ops", Organization: []string{"shop"}}}
	ctx := context.WithValue(t.Context(), connectionKey{}, &connection{remote: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 51324}})
	for want, state := range map[string]*tls.ConnectionState{
		"10.0.0.7:51324 CN=ops,O=shop": {PeerCertificates: []*x509.Certificate{certificate}, VerifiedChains: [][]*x509.Certificate{{certificate}}},
		"10.0.0.7:51324":               {PeerCertificates: []*x509.Certificate{certificate}},
	} {
		if got := WhoOf(withSubject(ctx, &http.Request{TLS: state})); got != want {
			t.Errorf("the caller is %q, want %q", got, want)
		}
	}
	if got := WhoOf(withSubject(ctx, &http.Request{})); got != "10.0.0.7:51324" {
		t.Errorf("without TLS the caller is %q", got)
	}
	if got := WhoOf(t.Context()); got != "this process" {
		t.Errorf("the member's own handle is %q", got)
	}
}
