package security

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// File names in [Config.Dir]; certificates are ROLE.crt and ROLE.key.
const (
	AuthorityFile    = "ca.crt"
	AuthorityKeyFile = "ca.key"
	GossipKeysFile   = "gossip.keys"
	TokensFile       = "tokens.pub"
	TokensKeyFile    = "tokens.key"
)

// defaultEvery is the default interval between checks for changed files.
const defaultEvery = 10 * time.Second

// Credentials apply a [Config]: this process's certificates and keys, and the certificates it
// trusts. The methods are safe for concurrent use.
type Credentials struct {
	cfg   Config
	files paths
	role  Role

	mu      sync.Mutex // one reload at a time
	current atomic.Pointer[material]
	changed atomic.Pointer[chan struct{}]
	open    openRemotes
}

// paths are the files that credentials are read from; "" = none.
type paths struct{ cert, key, authority, gossip, tokens string }

// material is everything that was read at one time. It does not change.
type material struct {
	number  int // how many were read before it
	server  *tls.Config
	client  *tls.Config
	own     *x509.Certificate // nil if cfg.TLS has no readable certificate
	grid    string            // that this process is of, "" if that is not known
	issuer  time.Time         // when own's authority ends; zero if that cannot be determined
	clients *x509.CertPool    // verifies callers' certificates
	gossip  [][]byte
	tokens  []byte // the file, as it is
}

// Load reads the files selected by a configuration. role applies if the configuration sets none.
// Errors match [ErrInvalid] and name the file and the remedy.
func Load(cfg Config, role Role) (*Credentials, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	role = cmp.Or(cfg.Role, role)
	if cfg.Time == nil {
		cfg.Time = time.Now
	}
	cfg.Every = cmp.Or(cfg.Every, defaultEvery)
	c := &Credentials{cfg: cfg}
	c.files, c.role = cfg.paths(role)
	switch {
	case cfg.TLS != nil:
	case role == Member && c.files.cert == "":
		return nil, fmt.Errorf("%w: a member has no certificate; give Dir, or CertFile and KeyFile", ErrInvalid)
	case c.files.authority == "":
		return nil, fmt.Errorf("%w: CertFile is %q and no authority is trusted; give CAFile as well", ErrInvalid,
			cfg.CertFile)
	}
	first := make(chan struct{})
	c.changed.Store(&first)
	if _, err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// paths returns a configuration's files for a role, and the certificate's role.
func (c Config) paths(role Role) (paths, Role) {
	p := paths{cert: c.CertFile, key: c.KeyFile, authority: c.CAFile, gossip: c.GossipKeysFile, tokens: c.TokensFile}
	if c.Dir == "" {
		return p, role
	}
	in := func(name string) string { return filepath.Join(c.Dir, name) }
	if c.Token != "" {
		p.authority = cmp.Or(p.authority, in(AuthorityFile))
		return p, NoRole
	}
	if role != Member && c.Role == NoRole { // whichever is there
		for _, r := range []Role{role, Holder, Admin, Reader} {
			if _, err := os.Stat(in(string(r) + ".crt")); r != NoRole && err == nil {
				role = r
				break
			}
		}
	}
	if p.cert == "" && c.TLS == nil {
		p.cert, p.key = in(string(role)+".crt"), in(string(role)+".key")
	}
	if c.TLS == nil {
		p.authority = cmp.Or(p.authority, in(AuthorityFile))
	}
	if role == Member {
		for file, name := range map[*string]string{&p.gossip: GossipKeysFile, &p.tokens: TokensFile} {
			if _, err := os.Stat(in(name)); *file == "" && err == nil {
				*file = in(name)
			}
		}
	}
	return p, role
}

// Role returns the role in this process's certificate.
func (c *Credentials) Role() Role { return c.role }

// Token returns the token that a client sends instead of a certificate, "" for none.
func (c *Credentials) Token() string { return c.cfg.Token }

// Files returns the files that are read, for messages.
func (c *Credentials) Files() (certificate, authority, gossipKeys, tokens string) {
	return c.files.cert, c.files.authority, c.files.gossip, c.files.tokens
}

// Reload reads the files again, and reports whether anything changed. After an error
// everything stays as it was. A certificate that is not valid now does not replace a valid one.
func (c *Credentials) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := c.read()
	if err != nil {
		return false, err
	}
	before := c.current.Load()
	if before != nil && before.equals(next) {
		return false, nil
	}
	if err := c.worse(before, next); err != nil {
		return false, err
	}
	if before != nil {
		next.number = before.number + 1
	}
	c.current.Store(next)
	fresh := make(chan struct{})
	close(*c.changed.Swap(&fresh))
	return true, nil
}

// Watch reloads whenever the files have changed, until ctx ends, and reports each reload
// that changed something or failed. It ends the connections that [Remote.Keep] was called
// for when the certificate at their other end is not valid any longer.
func (c *Credentials) Watch(ctx context.Context, report func(error)) {
	last := ""
	for due := time.Now().Add(c.cfg.Every); ; {
		changes := c.Changed()
		timer := time.NewTimer(c.open.check(time.Until(due), c.cfg.Time()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-changes:
			timer.Stop()
			continue
		case <-timer.C:
		}
		if time.Now().Before(due) {
			continue
		}
		due = time.Now().Add(c.cfg.Every)
		changed, err := c.Reload()
		text := fmt.Sprint(err)
		if changed || err != nil && text != last {
			report(err)
		}
		last = text
	}
}

// Changed returns a channel that is closed when the next reload changes something.
func (c *Credentials) Changed() <-chan struct{} { return *c.changed.Load() }

// Generation counts the reloads that changed something.
func (c *Credentials) Generation() int { return c.current.Load().number }

// Server returns a listener's configuration. It follows reloads. A caller without a certificate is
// accepted, and has no role; a caller with an invalid certificate is rejected.
func (c *Credentials) Server() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load().server, nil },
		// Some code looks for a certificate before it listens.
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			server := c.current.Load().server
			if server.GetCertificate != nil {
				return server.GetCertificate(hello)
			}
			if len(server.Certificates) == 0 {
				return nil, errors.New("no certificate")
			}
			return &server.Certificates[0], nil
		},
	}
}

// Client returns the configuration for a connection to a member at an address, host:port, over
// HTTP/1.1. It does not follow reloads: get a new one for each connection. Connections may share it.
func (c *Credentials) Client(addr string) *tls.Config {
	return named(c.current.Load().client, addr)
}

// named returns a configuration with the host in addr as server name, unless one is set.
func named(conf *tls.Config, addr string) *tls.Config {
	if conf.ServerName != "" {
		return conf
	}
	conf = conf.Clone()
	conf.ServerName = addr
	if host, _, err := net.SplitHostPort(addr); err == nil {
		conf.ServerName = host
	}
	return conf
}

// Grid returns the name of this process's grid, "" if neither its configuration nor its certificate
// names one.
func (c *Credentials) Grid() string { return c.current.Load().grid }

// sameGrid takes the grid that the own certificate names.
func (c *Credentials) sameGrid(m *material, named string) error {
	switch {
	case named == "" || named == m.grid:
	case m.grid == "":
		m.grid = named
	default:
		file := c.files.cert
		if file == "" {
			file = "the certificate"
		}
		return fmt.Errorf("%w: %s is for the grid %q, and this process is of the grid %q; give both one name: snowgrid "+
			"agent --name %[3]s, or a certificate of snowgrid secure init --grid %[4]s", ErrInvalid, file, named, m.grid)
	}
	return nil
}

// checkGrid rejects a peer with a certificate for a grid other than this process's.
func (m *material) checkGrid(p Peer) error {
	if p.Grid == "" || m.grid == "" || p.Grid == m.grid {
		return nil
	}
	return fmt.Errorf("%w: the certificate of %s is for the grid %q, and this process is of the grid %q; use "+
		"certificates of one grid (snowgrid secure init --grid NAME)", ErrUnauthenticated, p, p.Grid, m.grid)
}

// GossipKeys returns the gossip keys, the encrypting one first; nil = none.
func (c *Credentials) GossipKeys() [][]byte { return c.current.Load().gossip }

// TokenKeys returns the file of public keys that verify tokens; nil = none.
func (c *Credentials) TokenKeys() []byte { return c.current.Load().tokens }

// Now returns the time that certificates are checked at.
func (c *Credentials) Now() time.Time { return c.cfg.Time() }

func (c *Credentials) read() (*material, error) {
	m := &material{}
	base := c.cfg.TLS
	if base == nil {
		var err error
		if base, err = c.files.read(); err != nil {
			return nil, err
		}
	}
	if len(base.Certificates) > 0 && len(base.Certificates[0].Certificate) > 0 {
		m.own, _ = x509.ParseCertificate(base.Certificates[0].Certificate[0])
	}
	if m.grid = c.cfg.Grid; m.own != nil {
		if err := c.sameGrid(m, GridOf(m.own)); err != nil {
			return nil, err
		}
	}
	m.issuer = issuerExpiry(m.own, base, c.cfg.Time())
	m.server, m.client = base.Clone(), base.Clone()
	m.clients = base.ClientCAs
	m.server.MinVersion = max(m.server.MinVersion, tls.VersionTLS13)
	m.client.MinVersion = max(m.client.MinVersion, tls.VersionTLS13)
	if m.server.ClientAuth < tls.VerifyClientCertIfGiven {
		m.server.ClientAuth = tls.VerifyClientCertIfGiven
	}
	m.server.GetConfigForClient = nil
	m.server.NextProtos, m.client.NextProtos = []string{"h2", "http/1.1"}, []string{"http/1.1"}
	// A resumed session would skip the authorities that are trusted now.
	m.server.SessionTicketsDisabled, m.client.ClientSessionCache = true, nil
	m.server.Time, m.client.Time = c.cfg.Time, c.cfg.Time
	if name := c.cfg.ServerName; name != "" {
		m.client.ServerName = name
	} else if c.cfg.Dir != "" && c.cfg.TLS == nil && c.cfg.CertFile == "" {
		m.client.ServerName = MemberServerName
	}
	others := base.VerifyConnection
	m.client.VerifyConnection = func(state tls.ConnectionState) error {
		if others != nil {
			if err := others(state); err != nil {
				return err
			}
		}
		p := Identity(state.PeerCertificates[0], c.cfg.Rules)
		if p.Role != Member {
			return notMember(p)
		}
		return m.checkGrid(p)
	}
	var err error
	if m.gossip, err = readGossipKeys(c.files.gossip); err != nil {
		return nil, err
	}
	if c.files.tokens != "" {
		if m.tokens, err = os.ReadFile(c.files.tokens); err != nil {
			return nil, unreadable(c.files.tokens, err)
		}
		if _, _, err = ParseTokenKeys(m.tokens); err != nil {
			return nil, fmt.Errorf("%w; correct %s", err, c.files.tokens)
		}
	}
	return m, nil
}

// read reads the certificates. A process that presents no certificate has none.
func (p paths) read() (*tls.Config, error) {
	conf := &tls.Config{}
	if p.cert != "" {
		cert, err := readCertificate(p.cert, p.key)
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	pool, err := readAuthorities(p.authority)
	if err != nil {
		return nil, err
	}
	conf.RootCAs, conf.ClientCAs = pool, pool
	return conf, nil
}

// equals reports whether two readings found the same.
func (m *material) equals(o *material) bool {
	same := func(a, b tls.Certificate) bool { return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal) }
	return slices.EqualFunc(m.server.Certificates, o.server.Certificates, same) &&
		m.server.RootCAs.Equal(o.server.RootCAs) && slices.EqualFunc(m.gossip, o.gossip, bytes.Equal) &&
		bytes.Equal(m.tokens, o.tokens)
}
