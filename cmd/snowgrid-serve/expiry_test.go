package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestExpiredCertificateIsReported: the log has a warning, and the metrics have the time.
func TestExpiredCertificateIsReported(t *testing.T) {
	a := newTestAuthority(t)
	dir := t.TempDir()
	f := a.write(dir)
	for issued, says := range map[time.Time]string{
		time.Now().Add(-20 * 365 * 24 * time.Hour): "certificate expired; callers reject it",
		time.Now(): "certificate expires soon",
	} {
		other, err := authority.New("test", issued, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		certPEM, keyPEM, err := other.Issue(authority.Request{Name: "server", Role: security.Member}, issued)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string][]byte{f.TLSCert: certPEM, f.TLSKey: keyPEM} {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, callers, err := f.load()
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		ended, end := context.WithCancel(t.Context())
		end()
		callers.watch(ended, slog.New(slog.NewTextHandler(&log, nil)), nil)
		if !strings.Contains(log.String(), says) || !strings.Contains(log.String(), f.TLSCert) {
			t.Errorf("the log is %q, want %q", log.String(), says)
		}
		block, _ := pem.Decode(certPEM)
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := callers.expiry(); got != float64(leaf.NotAfter.Unix()) {
			t.Errorf("the metric is %f, the certificate ends %v", got, leaf.NotAfter)
		}
	}
	if (*access)(nil).expiry() != 0 {
		t.Error("an end without a certificate")
	}
}
