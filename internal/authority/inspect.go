package authority

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/security"
)

// WarnBefore is the time before a certificate's end from which a warning appears.
const WarnBefore = 14 * 24 * time.Hour

// Certificate describes one certificate in a directory.
type Certificate struct {
	File        string             `json:"file"`
	Name        string             `json:"name"`
	Role        security.Role      `json:"role"` // "" for an authority
	Names       []security.Pattern `json:"names"`
	Grid        string             `json:"grid"`  // that it is for, "" for any
	Hosts       []string           `json:"hosts"` // in addition to the names in every certificate of a member
	Begins      time.Time          `json:"begins"`
	Ends        time.Time          `json:"ends"`
	Fingerprint string             `json:"fingerprint"` // 16 hex digits of its SHA-256, as in the audit
	Warnings    []string           `json:"warnings"`
}

// Key describes one key in a directory, without the key itself.
type Key struct {
	File        string `json:"file"`
	Use         string `json:"use"`
	Fingerprint string `json:"fingerprint"`
}

// Contents describe a directory.
type Contents struct {
	Certificates []Certificate `json:"certificates"`
	Keys         []Key         `json:"keys"`
	// Issuing are the files that only issuing needs: they belong on no server.
	Issuing  []string `json:"issuing"`
	Warnings []string `json:"warnings"` // about other files
}

// Inspect describes the certificates and keys in a directory. Unreadable files become warnings.
func Inspect(dir string, now time.Time) (Contents, error) {
	out := Contents{Certificates: []Certificate{}, Keys: []Key{}, Issuing: []string{}, Warnings: []string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return out, fmt.Errorf("%w: %w; give a directory of snowgrid secure init or secure issue", security.ErrInvalid, err)
	}
	authorities, err := readCertificates(filepath.Join(dir, security.AuthorityFile))
	if err != nil {
		out.Warnings = append(out.Warnings, warning(err))
	}
	for i, cert := range authorities {
		c := describe(security.AuthorityFile, cert, now)
		if c.Role = security.NoRole; i > 0 {
			c.Warnings = append(c.Warnings,
				"a rotation of the authority is in progress: end it with snowgrid secure rotate authority --finish")
		}
		out.Certificates = append(out.Certificates, c)
	}
	names, err := certificateFiles(dir)
	if err != nil {
		return out, err
	}
	for _, name := range names {
		cert, err := readOne(filepath.Join(dir, name))
		if err != nil {
			out.Warnings = append(out.Warnings, warning(err))
			continue
		}
		c := describe(name, cert, now)
		c.Warnings = append(c.Warnings, warningsOf(dir, name, cert, authorities)...)
		out.Certificates = append(out.Certificates, c)
	}
	out.keys(dir)
	for _, e := range entries {
		if isIssuing(e.Name()) {
			out.Issuing = append(out.Issuing, e.Name())
		}
		if info, err := e.Info(); err == nil && isSecret(e.Name()) && info.Mode().Perm()&0o077 != 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("other users may read %s (%v): run chmod 600 %s", e.Name(),
				info.Mode().Perm(), filepath.Join(dir, e.Name())))
		}
	}
	return out, nil
}

func describe(name string, cert *x509.Certificate, now time.Time) Certificate {
	p := security.Identity(cert, nil)
	sum := sha256.Sum256(cert.Raw)
	c := Certificate{
		File: name, Name: cert.Subject.CommonName, Role: p.Role, Grid: p.Grid,
		Names: append([]security.Pattern{}, p.Names...), Hosts: append([]string{}, hostsOf(cert)...),
		Begins: cert.NotBefore, Ends: cert.NotAfter, Fingerprint: hex.EncodeToString(sum[:8]), Warnings: []string{},
	}
	switch left := cert.NotAfter.Sub(now); {
	case left < 0:
		c.Warnings = append(c.Warnings, "it has ended"+renewal(cert))
	case left < WarnBefore:
		c.Warnings = append(c.Warnings, "it ends soon"+renewal(cert))
	case now.Before(cert.NotBefore):
		c.Warnings = append(c.Warnings, "it is not valid yet: check the clock")
	}
	return c
}

// renewal returns the command that replaces a certificate.
func renewal(cert *x509.Certificate) string {
	if cert.IsCA {
		return ": replace the authority with snowgrid secure rotate authority"
	}
	return ": issue it again with snowgrid secure issue, or snowgrid secure rotate certificates"
}

// warningsOf returns the faults in a role's certificate.
func warningsOf(dir, name string, cert *x509.Certificate, authorities []*x509.Certificate) (out []string) {
	base := strings.TrimSuffix(name, certificateSuffix)
	if role := string(security.Identity(cert, nil).Role); role != base {
		stated := "no role"
		if role != "" {
			stated = "the role " + role
		}
		out = append(out, "it states "+stated+", and the file is named "+name+": rename it, or issue another one")
	}
	issuer := slices.IndexFunc(authorities, func(a *x509.Certificate) bool { return cert.CheckSignatureFrom(a) == nil })
	switch {
	case issuer < 0:
		out = append(out, "no authority in "+security.AuthorityFile+" has issued it: members of this grid refuse it")
	case issuer > 0:
		out = append(out, "it is of the earlier authority: issue it again before the rotation is finished")
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(dir, name), filepath.Join(dir, base+keySuffix)); err != nil {
		out = append(out, fmt.Sprintf("%s is not its key: %s", base+keySuffix, strings.TrimPrefix(err.Error(), "tls: ")))
	}
	return out
}

func (c *Contents) keys(dir string) {
	gossip := read(c, dir, security.GossipKeysFile, security.ParseGossipKeys)
	for i, key := range gossip {
		use := "gossip, accepted"
		if i == 0 {
			use = "gossip, encrypts"
		}
		c.Keys = append(c.Keys, Key{security.GossipKeysFile, use, security.Fingerprint(key)})
	}
	tokens := read(c, dir, security.TokensFile, func(text []byte) ([]string, error) {
		_, ids, err := security.ParseTokenKeys(text)
		return ids, err
	})
	for i, id := range tokens {
		use := "tokens, checks"
		if i == 0 {
			use = "tokens, newest"
		}
		c.Keys = append(c.Keys, Key{security.TokensFile, use, id})
	}
}

// read parses a file that may be missing. Its errors are warnings.
func read[T any](c *Contents, dir, name string, parse func([]byte) (T, error)) (out T) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return out
	}
	if err == nil {
		out, err = parse(text)
	}
	if err != nil {
		c.Warnings = append(c.Warnings, name+": "+warning(err))
	}
	return out
}

// warning returns an error's text without its kind.
func warning(err error) string {
	return strings.TrimPrefix(err.Error(), security.ErrInvalid.Error()+": ")
}
