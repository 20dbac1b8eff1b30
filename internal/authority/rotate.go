package authority

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/security"
)

// earlierKeyFile keeps the previous authority's key until the rotation is finished, so that an
// operator can undo the rotation by hand.
const earlierKeyFile = security.AuthorityKeyFile + ".old"

// RotateAuthority makes a new authority, which issues from now on. The earlier one is trusted
// as well until FinishAuthority.
func (d *Directory) RotateAuthority(now time.Time) error {
	trusted, err := d.trusted()
	if err != nil {
		return err
	}
	// Without the first certificate's key, an earlier rotation was interrupted and starts again.
	if len(trusted) > 1 && trusted[0].Equal(d.authority.cert) {
		return fmt.Errorf("%w: a rotation of the authority is in progress; continue with snowgrid secure rotate "+
			"certificates, and end it with snowgrid secure rotate authority --finish", security.ErrInvalid)
	}
	next, err := NewOf(d.authority.Grid(), d.authority.cert.Subject.CommonName, now, AuthorityTTL)
	if err != nil {
		return err
	}
	key, err := next.Key()
	if err != nil {
		return err
	}
	earlier, err := d.authority.Key()
	if err != nil {
		return err
	}
	// The key is last: until then the earlier one issues.
	err = d.replaceAll(
		file{earlierKeyFile, earlier},
		file{security.AuthorityFile, append(next.Certificate(), d.authority.Certificate()...)},
		file{security.AuthorityKeyFile, key},
	)
	if err == nil {
		d.authority = next
	}
	return err
}

// FinishAuthority ends the trust in all authorities except the newest. It fails while another
// authority's certificate is in the directory.
func (d *Directory) FinishAuthority() error {
	trusted, err := d.trusted()
	if err != nil {
		return err
	}
	if len(trusted) < 2 || !trusted[0].Equal(d.authority.cert) {
		return fmt.Errorf("%w: no rotation of the authority is in progress; begin one with snowgrid secure rotate authority",
			security.ErrInvalid)
	}
	names, err := certificateFiles(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		cert, err := readOne(filepath.Join(d.path, name))
		if err != nil {
			return err
		}
		if cert.CheckSignatureFrom(d.authority.cert) != nil {
			return fmt.Errorf("%w: %s is of the earlier authority; run snowgrid secure rotate certificates first, and copy "+
				"the certificates to their processes", security.ErrInvalid, filepath.Join(d.path, name))
		}
	}
	if err := d.replaceAll(file{security.AuthorityFile, d.authority.Certificate()}); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(d.path, earlierKeyFile)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// RotateCertificates issues each certificate in the directory again, with a new key, for the same
// role, names and hosts. It returns their roles. With ttl 0, each keeps its validity.
func (d *Directory) RotateCertificates(ttl time.Duration, now time.Time) ([]security.Role, error) {
	names, err := certificateFiles(d.path)
	if err != nil {
		return nil, err
	}
	var roles []security.Role
	var files []file
	for _, name := range names {
		cert, err := readOne(filepath.Join(d.path, name))
		if err != nil {
			return nil, err
		}
		p := security.Identity(cert, nil)
		if string(p.Role)+certificateSuffix != name {
			return nil, fmt.Errorf("%w: %s is a certificate of %s; move it away, or issue it with snowgrid secure issue",
				security.ErrInvalid, filepath.Join(d.path, name), p)
		}
		r := Request{Name: p.Name, Role: p.Role, Names: p.Names, TTL: ttl}
		if ttl == 0 {
			r.TTL = cert.NotAfter.Sub(cert.NotBefore) - skew
		}
		if p.Role == security.Member {
			r.Hosts = hostsOf(cert)
		}
		pair, err := d.authority.pair(r, now)
		if err != nil {
			return nil, err
		}
		files = append(files, pair...)
		roles = append(roles, p.Role)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: %s has no certificates of roles; issue them with snowgrid secure issue",
			security.ErrInvalid, d.path)
	}
	return roles, d.replaceAll(files...)
}

// RotateTokens creates a new key that signs tokens. Tokens signed by earlier keys stay valid until
// FinishTokens.
func (d *Directory) RotateTokens() error {
	earlier, err := os.ReadFile(filepath.Join(d.path, security.TokensFile))
	if err != nil {
		return fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	private, public, err := newTokenKey()
	if err != nil {
		return err
	}
	both := append(public, earlier...)
	if _, _, err := security.ParseTokenKeys(both); err != nil {
		return fmt.Errorf("%w; end the rotation with snowgrid secure rotate tokens --finish", err)
	}
	return d.replaceAll(file{security.TokensFile, both}, file{security.TokensKeyFile, private})
}

// FinishTokens removes all token keys except the newest; the tokens that they signed become
// invalid.
func (d *Directory) FinishTokens() error {
	text, err := os.ReadFile(filepath.Join(d.path, security.TokensFile))
	if err != nil {
		return fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	_, ids, err := security.ParseTokenKeys(text)
	if err != nil {
		return err
	}
	if len(ids) < 2 {
		return fmt.Errorf("%w: no rotation of tokens is in progress; begin one with snowgrid secure rotate tokens",
			security.ErrInvalid)
	}
	first, _ := pem.Decode(text)
	return d.replaceAll(file{security.TokensFile, pem.EncodeToMemory(first)})
}

// trusted returns the certificates of trusted authorities, the newest first.
func (d *Directory) trusted() ([]*x509.Certificate, error) {
	return readCertificates(filepath.Join(d.path, security.AuthorityFile))
}

// replaceAll writes files in the directory, one after the other.
func (d *Directory) replaceAll(files ...file) error {
	for _, f := range files {
		if err := f.replace(d.path); err != nil {
			return fmt.Errorf("security: %s is not written: %w; correct the cause and run the command again", f.name, err)
		}
	}
	return nil
}

// certificateFiles returns the names of certificate files in a directory, without authorities.
func certificateFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), certificateSuffix) && e.Name() != security.AuthorityFile {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// readCertificates returns the certificates in a PEM file, in file order; at least one.
func readCertificates(path string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", security.ErrInvalid, err)
	}
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", security.ErrInvalid, path, err)
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s has no certificate in PEM", security.ErrInvalid, path)
	}
	return out, nil
}

// readOne returns the first certificate in a PEM file.
func readOne(path string) (*x509.Certificate, error) {
	certs, err := readCertificates(path)
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

func hostsOf(c *x509.Certificate) []string {
	var out []string
	for _, name := range c.DNSNames {
		if !slices.Contains(memberNames, name) {
			out = append(out, name)
		}
	}
	for _, ip := range c.IPAddresses {
		if !slices.ContainsFunc(loopback, func(l net.IP) bool { return l.Equal(ip) }) {
			out = append(out, ip.String())
		}
	}
	return out
}
