package gridtest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// Secrets are a secured grid's authorities and everything that they have issued: a directory for
// each process, as created by `snowgrid secure`. Directory changes reach the processes within ten
// seconds.
type Secrets struct {
	tb testing.TB

	mu          sync.Mutex // guards the fields below
	authorities []*authority.Authority
	keys        [][]byte // for gossip
	issued      map[string]*issued
}

// issued is one process's directory.
type issued struct {
	dir     string
	request authority.Request
}

// Certificates begin long before the grid and end long after it, so that clocks can be stepped.
const (
	certificateAge  = 2 * 365 * 24 * time.Hour
	certificateLeft = 10 * 365 * 24 * time.Hour
)

func newSecrets(tb testing.TB) *Secrets {
	tb.Helper()
	s := &Secrets{tb: tb, issued: map[string]*issued{}}
	s.AddAuthority()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	s.SetGossipKeys(key)
	return s
}

// Issue returns a process's directory with a certificate for a role, limited to names if given. The
// first call creates it.
func (s *Secrets) Issue(process string, role security.Role, names ...security.Pattern) string {
	s.tb.Helper()
	return s.IssueFor(certificateLeft, process, role, names...)
}

// IssueFor is Issue with a certificate validity.
func (s *Secrets) IssueFor(ttl time.Duration, process string, role security.Role, names ...security.Pattern) string {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.issued[process]; known != nil && known.request.Role == role {
		return known.dir
	}
	i := &issued{dir: s.tb.TempDir(), request: authority.Request{Name: process, Role: role, Names: names,
		TTL: ttl + certificateAge}}
	s.issued[process] = i
	s.trust(i)
	s.certify(i)
	s.writeKeys(i)
	return i.dir
}

// AddAuthority makes a new authority, which is trusted besides the others, and issues from
// now on.
func (s *Secrets) AddAuthority() {
	s.tb.Helper()
	a, err := authority.New("gridtest", Now().Add(-certificateAge), certificateAge+2*certificateLeft)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorities = append(s.authorities, a)
	for _, i := range s.issued {
		s.trust(i)
	}
}

// DropAuthorities has the newest authority alone trusted.
func (s *Secrets) DropAuthorities() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorities = slices.Clone(s.authorities[len(s.authorities)-1:])
	for _, i := range s.issued {
		s.trust(i)
	}
}

// Authority returns a new directory with the newest authority's certificate and private key, to issue
// certificates that no process in the grid has. The files are security.AuthorityFile and
// security.AuthorityKeyFile.
func (s *Secrets) Authority() string {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.authorities[len(s.authorities)-1]
	key, err := newest.Key()
	if err != nil {
		s.tb.Fatal(err)
	}
	i := &issued{dir: s.tb.TempDir()}
	s.write(i, security.AuthorityFile, newest.Certificate())
	s.write(i, security.AuthorityKeyFile, key)
	return i.dir
}

// Freeze keeps some processes' directories unchanged from now on.
func (s *Secrets) Freeze(processes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range processes {
		delete(s.issued, name)
	}
}

// Reissue replaces the certificates for some processes, or for all.
func (s *Secrets) Reissue(processes ...string) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, i := range s.issued {
		if len(processes) == 0 || slices.Contains(processes, name) {
			i.request.TTL = certificateLeft + certificateAge
			s.certify(i)
		}
	}
}

// GossipKeys returns the gossip keys.
func (s *Secrets) GossipKeys() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys)
}

// SetGossipKeys replaces all members' gossip keys.
func (s *Secrets) SetGossipKeys(keys ...[]byte) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
	for _, i := range s.issued {
		s.writeKeys(i)
	}
}

// trust writes the authorities that are trusted. The caller holds mu.
func (s *Secrets) trust(i *issued) {
	s.tb.Helper()
	var text []byte
	for _, a := range s.authorities {
		text = append(text, a.Certificate()...)
	}
	s.write(i, security.AuthorityFile, text)
}

// certify writes a new certificate from the newest authority. The caller holds mu.
func (s *Secrets) certify(i *issued) {
	s.tb.Helper()
	cert, key, err := s.authorities[len(s.authorities)-1].Issue(i.request, Now().Add(-certificateAge))
	if err != nil {
		s.tb.Fatal(err)
	}
	s.write(i, string(i.request.Role)+".crt", cert)
	s.write(i, string(i.request.Role)+".key", key)
}

// writeKeys writes a member's gossip keys. The caller holds mu.
func (s *Secrets) writeKeys(i *issued) {
	s.tb.Helper()
	if i.request.Role != security.Member {
		return
	}
	var text bytes.Buffer
	for _, key := range s.keys {
		text.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	}
	s.write(i, security.GossipKeysFile, text.Bytes())
}

func (s *Secrets) write(i *issued, name string, text []byte) {
	s.tb.Helper()
	if err := os.WriteFile(filepath.Join(i.dir, name), text, 0o600); err != nil {
		s.tb.Fatal(err)
	}
}
