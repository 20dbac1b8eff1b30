package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"net/url"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/snowgrid/snowgrid/security"
)

const (
	callersMax = 1024
	callerFor  = time.Minute
)

// access authorizes callers' requests by their certificates. A nil access allows everything.
type access struct {
	credentials *security.Credentials
	open        bool // callers need no certificate

	mu         sync.Mutex
	generation int // the credentials' generation when callers were verified
	callers    map[[sha256.Size]byte]caller
}

// caller is a verified certificate, and the time until which it is trusted.
type caller struct {
	peer  security.Peer
	until time.Time
}

// allow returns nil if the caller at the other end of a connection may perform an action on the
// named sequencer, "" for an action without one.
func (a *access) allow(state *tls.ConnectionState, action security.Action, name string) error {
	if a.anyone() {
		return nil
	}
	p, err := a.peer(state)
	if err != nil {
		return err
	}
	return security.Authorize(p, action, name)
}

// anyone reports whether callers need no certificate.
func (a *access) anyone() bool { return a == nil || a.open }

// peer returns a connection's caller. Signatures are verified once a minute, and after a reload,
// since a connection may outlive its certificate.
func (a *access) peer(state *tls.ConnectionState) (security.Peer, error) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return security.Peer{}, nil
	}
	id, now, generation := sha256.Sum256(state.PeerCertificates[0].Raw), a.credentials.Now(), a.credentials.Generation()
	a.mu.Lock()
	if a.generation != generation || len(a.callers) >= callersMax {
		a.generation, a.callers = generation, nil
	}
	known, found := a.callers[id]
	a.mu.Unlock()
	if found && now.Before(known.until) {
		return known.peer, nil
	}
	p, err := a.credentials.PeerOf(state)
	if err != nil {
		return p, err
	}
	if p.Role == security.NoRole && !statesRole(state) {
		p.Role = security.Holder // its authority is trusted for this purpose
	}
	until := now.Add(callerFor)
	if p.Expires.Before(until) {
		until = p.Expires
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.generation == generation {
		if a.callers == nil {
			a.callers = map[[sha256.Size]byte]caller{}
		}
		a.callers[id] = caller{p, until}
	}
	return p, nil
}

// statesRole reports whether a certificate has any statement about roles, valid or not.
func statesRole(state *tls.ConnectionState) bool {
	own := security.URIs(security.Holder, nil)[0]
	return slices.ContainsFunc(state.PeerCertificates[0].URIs, func(u *url.URL) bool {
		return u.Scheme == own.Scheme && u.Host == own.Host
	})
}

// stateOf returns the TLS connection state for a gRPC call, nil without TLS.
func stateOf(ctx context.Context) *tls.ConnectionState {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return nil
	}
	info, isTLS := p.AuthInfo.(credentials.TLSInfo)
	if !isTLS {
		return nil
	}
	return &info.State
}
