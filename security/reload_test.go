package security_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// TestReloadKeepsAValidCertificate: a certificate that is not valid at the time does not replace a valid one. The
// error names the file, the cause and the remedy. Another one that is not valid replaces one that has ended.
func TestReloadKeepsAValidCertificate(t *testing.T) {
	a, now := newAuthority(t), time.Now()
	member := authority.Request{Name: "m", Role: security.Member, TTL: time.Hour}
	dir := directory(t, a, member)
	file := filepath.Join(dir, "member.crt")
	c, err := security.Load(security.Config{Dir: dir, Time: func() time.Time { return now }}, security.Member)
	if err != nil {
		t.Fatal(err)
	}
	first := c.Expiry()
	write := func(cert, key []byte) {
		t.Helper()
		for name, text := range map[string][]byte{file: cert, filepath.Join(dir, "member.key"): key} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	issue := func(at time.Time) (cert, key []byte) {
		t.Helper()
		cert, key, err := a.Issue(member, at)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	ended, endedKey := issue(now.Add(-24 * time.Hour))
	later, laterKey := issue(now.Add(24 * time.Hour))
	_, otherKey := issue(now)
	for says, pair := range map[string][2][]byte{
		"ended at ":                        {ended, endedKey},
		"is not valid before ":             {later, laterKey},
		"private key does not match":       {ended, otherKey},
		"failed to find any PEM data":      {[]byte("nothing"), endedKey},
		"give a certificate and its priva": {later[:len(later)/2], laterKey},
	} {
		write(pair[0], pair[1])
		changed, err := c.Reload()
		if changed || err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), file) {
			t.Errorf("changed %v, %v; want %q and %s", changed, err, says, file)
		}
		if !c.Expiry().Equal(first) || c.Generation() != 0 {
			t.Errorf("%s: the certificate in use ends %v, want %v", says, c.Expiry(), first)
		}
	}
	write(ended, endedKey)
	now = first.Add(time.Second) // the one in use has ended, too
	if changed, err := c.Reload(); !changed || err != nil || c.Expiry().After(first) {
		t.Errorf("after the end of the one in use: changed %v, %v, ends %v", changed, err, c.Expiry())
	}
}

// TestReloadKeepsATrustedCertificate: files of which the authorities do not include that of the own certificate do not
// replace files of which they do, whichever of both was copied too early. The error names both files and the remedy.
func TestReloadKeepsATrustedCertificate(t *testing.T) {
	member := authority.Request{Name: "m", Role: security.Member, TTL: time.Hour}
	earlier, next := newAuthority(t), newAuthority(t)
	both := append(next.Certificate(), earlier.Certificate()...)
	dir := directory(t, earlier, member)
	certFile, trustFile := filepath.Join(dir, "member.crt"), filepath.Join(dir, security.AuthorityFile)
	c := load(t, dir, security.Member)
	write := func(file string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certify := func(a *authority.Authority) {
		t.Helper()
		cert, key, err := a.Issue(member, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		write(certFile, cert)
		write(filepath.Join(dir, "member.key"), key)
	}
	reload := func(step string, want bool) {
		t.Helper()
		changed, err := c.Reload()
		if changed != want || (err == nil) != want {
			t.Errorf("%s: changed %v, %v", step, changed, err)
		}
		for _, text := range []string{certFile, trustFile, "snowgrid secure rotate"} {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %s", step, err, text)
			}
		}
	}
	write(trustFile, next.Certificate())
	reload("the earlier authority dropped before the certificate is of the next one", false)
	certify(next)
	write(trustFile, earlier.Certificate())
	reload("the certificate of the next authority before that is trusted", false)
	write(trustFile, both)
	reload("both authorities", true)
	write(trustFile, next.Certificate())
	reload("the earlier authority dropped", true)
}
