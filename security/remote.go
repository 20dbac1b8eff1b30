package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Remote is the process at the other end of an open connection. Its identity is verified again
// after each reload, and when its certificate ends.
type Remote struct {
	by     *Credentials
	state  tls.ConnectionState
	dialed bool // by this process: it has to be a member
	last   atomic.Pointer[verdict]
}

// verdict is a remote's identity when it was last verified.
type verdict struct {
	generation int
	peer       Peer
	until      time.Time // when its certificate, or one above it, ends; zero: never
	err        error
}

// Caller returns the process that opened a connection to this one. nil is one in clear text.
func (c *Credentials) Caller(state *tls.ConnectionState) *Remote { return c.remote(state, false) }

// Called returns the process that this one opened a connection to, which has to be a member.
func (c *Credentials) Called(state *tls.ConnectionState) *Remote { return c.remote(state, true) }

func (c *Credentials) remote(state *tls.ConnectionState, dialed bool) *Remote {
	r := &Remote{by: c, dialed: dialed}
	if state != nil {
		r.state = *state
	}
	return r
}

// Peer returns who the remote is now. A caller without a certificate is a peer without a role.
// Errors match [ErrUnauthenticated].
func (r *Remote) Peer() (Peer, error) {
	v := r.verify()
	return v.peer, v.err
}

// verify returns the last verdict if it holds, else a new one.
func (r *Remote) verify() *verdict {
	m := r.by.current.Load()
	if v := r.last.Load(); v != nil && v.generation == m.number && !v.ended(r.by.cfg.Time()) {
		return v
	}
	v := &verdict{generation: m.number}
	v.peer, v.until, v.err = r.by.verify(m, r.state, r.dialed)
	r.last.Store(v)
	return v
}

func (v *verdict) ended(now time.Time) bool {
	return v.err == nil && !v.until.IsZero() && now.After(v.until)
}

// Keep has the connection ended by end when its remote is verified no longer, while
// [Credentials.Watch] runs; forget is for a connection that has ended.
func (r *Remote) Keep(end func(error)) (forget func()) {
	o := &r.by.open
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.end == nil {
		o.end = map[*Remote]func(error){}
	}
	o.end[r] = end
	return func() { o.remove(r) }
}

// openRemotes are the remotes with open connections. Its zero value is ready.
type openRemotes struct {
	mu  sync.Mutex
	end map[*Remote]func(error)
}

func (o *openRemotes) remove(r *Remote) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.end, r)
}

// check closes connections with invalid remotes, and returns the time until the next check, at most
// most.
func (o *openRemotes) check(most time.Duration, now time.Time) time.Duration {
	o.mu.Lock()
	all := maps.Clone(o.end)
	o.mu.Unlock()
	for r, end := range all {
		if v := r.verify(); v.err != nil {
			o.remove(r)
			end(v.err)
		} else if !v.until.IsZero() {
			most = min(most, v.until.Sub(now)+time.Millisecond)
		}
	}
	return max(most, leastWait)
}

// leastWait bounds how often connections are looked at.
const leastWait = 10 * time.Millisecond

// PeerOf returns the peer at the other end of a connection, verified with the current authorities
// at the current time: a certificate that was valid at the handshake may have become invalid. A
// connection without a certificate is a peer without a role. Errors match [ErrUnauthenticated].
func (c *Credentials) PeerOf(state *tls.ConnectionState) (Peer, error) { return c.Caller(state).Peer() }

// verify returns a connection's peer, and the earliest end in its certificate chain.
func (c *Credentials) verify(m *material, state tls.ConnectionState, dialed bool) (Peer, time.Time, error) {
	if len(state.PeerCertificates) == 0 {
		if dialed {
			return Peer{}, time.Time{}, notMember(Peer{})
		}
		return Peer{}, time.Time{}, nil
	}
	leaf := state.PeerCertificates[0]
	roots, usage := m.clients, x509.ExtKeyUsageClientAuth
	if dialed {
		roots, usage = m.client.RootCAs, x509.ExtKeyUsageServerAuth
	}
	until := leaf.NotAfter
	switch {
	case dialed && m.client.InsecureSkipVerify:
	case !dialed && roots == nil: // Verify would trust the operating system's authorities
		return Peer{}, time.Time{}, fmt.Errorf("%w: no authority of callers is trusted here", ErrUnauthenticated)
	default:
		chains, err := verify(state.PeerCertificates, roots, usage, c.cfg.Time())
		if err != nil {
			return Peer{}, time.Time{}, fmt.Errorf("%w: %s", ErrUnauthenticated, Explain(err))
		}
		until = longest(chains)
	}
	p := Identity(leaf, c.cfg.Rules)
	if dialed && p.Role != Member {
		return Peer{}, time.Time{}, notMember(p)
	}
	if err := m.checkGrid(p); err != nil {
		return Peer{}, time.Time{}, err
	}
	return p, until, nil
}

// verify returns the chains of a certificate, the first of a list with those above it.
func verify(certs []*x509.Certificate, roots *x509.CertPool, usage x509.ExtKeyUsage,
	now time.Time) ([][]*x509.Certificate, error) {
	between := x509.NewCertPool()
	for _, cert := range certs[1:] {
		between.AddCert(cert)
	}
	return certs[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
	})
}

// longest returns the end of the chain that stays valid longest.
func longest(chains [][]*x509.Certificate) (until time.Time) {
	for _, chain := range chains {
		var end time.Time // the earliest
		for _, cert := range chain {
			if end.IsZero() || cert.NotAfter.Before(end) {
				end = cert.NotAfter
			}
		}
		if end.After(until) {
			until = end
		}
	}
	return until
}

// issuerExpiry returns when the authorities above this process's own certificate end.
func issuerExpiry(own *x509.Certificate, conf *tls.Config, now time.Time) (until time.Time) {
	if own == nil || conf.RootCAs == nil {
		return until
	}
	certs := []*x509.Certificate{own}
	for _, der := range conf.Certificates[0].Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			certs = append(certs, cert)
		}
	}
	chains, err := verify(certs, conf.RootCAs, x509.ExtKeyUsageAny, now)
	if err != nil {
		return until // it has ended, or was issued by an authority that only others trust
	}
	for i := range chains {
		chains[i] = chains[i][1:]
	}
	return longest(chains)
}

// errNotMember is part of each error about a connection to a process that is not a member.
var errNotMember = errors.New("no member")

// notMember returns the error for a connection to a process that should be a member.
func notMember(p Peer) error {
	return fmt.Errorf("%w: the process that answers is %s, and %w", ErrUnauthenticated, p, errNotMember)
}
