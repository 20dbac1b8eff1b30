package authority

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/security"
)

const (
	certificateSuffix = ".crt"
	keySuffix         = ".key"

	gossipKeyBytes = 32
)

// Options configure a new directory.
type Options struct {
	Grid  string        // the name of the grid that its certificates and tokens are for; "" = any
	Name  string        // common name of the authority, for people; "" = snowgrid
	Hosts []string      // member hosts, besides loopback; see [Request]
	TTL   time.Duration // certificate validity; 0 = one year
}

// Create creates a directory with a new authority, a certificate for each role, a gossip key and a
// token key. It creates either everything or nothing, and does not overwrite files.
func Create(dir string, o Options, now time.Time) error {
	if o.Name == "" {
		o.Name = "snowgrid"
	}
	if err := checkFree(dir); err != nil {
		return err
	}
	if fault := spelling.FaultOfGrid(o.Grid); fault != "" {
		return fmt.Errorf("%w: grid %.80q %s; leave it out, also of the agents' --name", security.ErrInvalid, o.Grid, fault)
	}
	a, err := NewOf(o.Grid, o.Name, now, max(AuthorityTTL, o.TTL))
	if err != nil {
		return err
	}
	key, err := a.Key()
	if err != nil {
		return err
	}
	tokensKey, tokens, err := newTokenKey()
	if err != nil {
		return err
	}
	files := []file{
		{security.AuthorityFile, a.Certificate()}, {security.AuthorityKeyFile, key},
		{security.GossipKeysFile, newGossipKey()}, {security.TokensFile, tokens}, {security.TokensKeyFile, tokensKey},
	}
	for _, role := range security.Roles() {
		r := Request{Name: string(role), Role: role, TTL: o.TTL}
		if role == security.Member {
			r.Hosts = o.Hosts
		}
		pair, err := a.pair(r, now)
		if err != nil {
			return err
		}
		files = append(files, pair...)
	}
	return publish(dir, files)
}

func newGossipKey() []byte {
	var key [gossipKeyBytes]byte
	_, _ = rand.Read(key[:])
	return append(base64.StdEncoding.AppendEncode(nil, key[:]), '\n')
}

// pair returns the files for a new certificate and its key.
func (a *Authority) pair(r Request, now time.Time) ([]file, error) {
	cert, key, err := a.Issue(r, now)
	if err != nil {
		return nil, err
	}
	return []file{{string(r.Role) + certificateSuffix, cert}, {string(r.Role) + keySuffix, key}}, nil
}

// Directory is a directory, created by Create, that issues certificates.
type Directory struct {
	path      string
	authority *Authority // the newest
}

// Open opens a directory that Create made. Errors match [security.ErrInvalid].
func Open(dir string) (*Directory, error) {
	certFile, keyFile := filepath.Join(dir, security.AuthorityFile), filepath.Join(dir, security.AuthorityKeyFile)
	if _, err := os.Stat(keyFile); os.IsNotExist(err) {
		return nil,
			fmt.Errorf("%w: %s has no %s, so nothing can be issued there; give the directory that snowgrid secure init made",
				security.ErrInvalid, dir, security.AuthorityKeyFile)
	}
	a, err := Load(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &Directory{path: dir, authority: a}, nil
}

// Grid returns the grid name in a directory's certificates, "" for any.
func Grid(dir string) (string, error) {
	certs, err := readCertificates(filepath.Join(dir, security.AuthorityFile))
	if err != nil {
		return "", err
	}
	return security.GridOf(certs[0]), nil
}

// Issue creates the directory out with a certificate and everything else that a process in this
// role needs. Files that only issuing needs are left out.
func (d *Directory) Issue(r Request, out string, now time.Time) error {
	files, err := d.authority.pair(r, now)
	if err != nil {
		return err
	}
	shared := []string{security.AuthorityFile}
	if r.Role == security.Member {
		shared = append(shared, security.GossipKeysFile, security.TokensFile)
	}
	for _, name := range shared {
		content, err := os.ReadFile(filepath.Join(d.path, name))
		if err != nil {
			return fmt.Errorf("%w: %w; give the directory that snowgrid secure init made", security.ErrInvalid, err)
		}
		files = append(files, file{name, content})
	}
	return publish(out, files)
}

// newTokenKey returns a new key that signs tokens, and its public part, in PEM.
func newTokenKey() (private, public []byte, err error) {
	open, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if private, err = keyPEM(secret); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(open)
	if err != nil {
		return nil, nil, err
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}
