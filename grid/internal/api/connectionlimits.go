package api

import (
	"container/list"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// kind is a class of connections. Each has its own share, so that holders cannot lock out members or
// probes.
type kind int

const (
	fromMember   kind = iota // a certificate of the role member
	fromHolder               // any other certificate
	fromStranger             // no certificate: a probe, or a program with a token
	inClear                  // any, of a member that runs without security
	kinds
)

// shares limits a kind's open connections, in total and per peer: a certificate at one address, or an
// address. A process has three per member, so 170 processes may share a host and a certificate. In
// clear text all processes on a machine, or behind one translated address, are one peer. A connection
// in use takes about 30 KB, so a peer with a certificate takes at most 16 MB.
var shares = [kinds]struct {
	name      string
	all, peer int
}{
	fromMember:   {"members", 1024, 1024},
	fromHolder:   {"clients", 14336, 512},
	fromStranger: {"callers without a certificate", 1024, 256},
	inClear:      {"callers", 16384, 12288},
}

// kindOf returns the kind for a peer's connections under TLS.
func kindOf(p security.Peer) kind {
	switch {
	case p.Role == security.Member:
		return fromMember
	case p.ID != "":
		return fromHolder
	}
	return fromStranger
}

// placeKey identifies connections that share a limit.
type placeKey struct {
	kind kind
	id   string // of the certificate, "" for none
	host string
}

// places counts the open connections of a listener. Its zero value is ready.
type places struct {
	mu      sync.Mutex // guards the fields below
	all     [kinds]int
	idlers  [kinds]list.List // of connections without a request, longest first
	peers   map[placeKey]*peerShare
	refused uint64                 // connections
	out     map[placeKey]time.Time // until when peers are kept out
}

// A peer that misused a connection is kept out for outFor: it would open another one. Of
// all peers outMax are, at most.
const (
	outFor = 10 * time.Second
	outMax = 1024
)

// keptOutError is the refusal of a peer that is kept out.
type keptOutError struct{ error }

func (e keptOutError) Unwrap() error { return e.error }

// keepOut keeps a peer out, from now on. Its other connections stay.
func (p *places) keepOut(k placeKey, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		p.out = map[placeKey]time.Time{}
	}
	if len(p.out) >= outMax {
		maps.DeleteFunc(p.out, func(_ placeKey, until time.Time) bool { return until.Before(now) })
	}
	if len(p.out) < outMax {
		p.out[k] = now.Add(outFor)
	}
}

// peerShare is the state shared by one peer's connections.
type peerShare struct {
	connections int       // guarded by places.mu
	idlers      list.List // likewise: those without a request, longest first
	bodies      budget
	rate        *rate.Limiter // of large bodies
	unanswered  atomic.Int64  // bytes that the connections sent without an answer
}

// enter counts a connection in, until leave. Without a place the longest idle connection ends for it. Errors
// match sequencer.ErrUnavailable.
func (p *places) enter(k placeKey) (share *peerShare, leave func(), err error) {
	if longest := p.yielding(k, time.Now()); longest != nil {
		_ = longest.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := shares[k.kind]
	share = p.peers[k]
	until, out := p.out[k]
	if left := time.Until(until); left <= 0 {
		delete(p.out, k)
		out = false
	}
	switch {
	case out:
		err = keptOutError{failure.Errorf(sequencer.ErrUnavailable,
			"grid: %s misused a connection, with calls that it gave up or frames without calls, and is kept out for %v; come "+
				"again later", k.host, outFor)}
	case share != nil && share.connections >= limit.peer:
		err = failure.Errorf(sequencer.ErrUnavailable,
			"grid: %s has %d connections to this member, the most for one address and certificate; "+
				"use one client for each process, or another member", k.host, share.connections)
	case p.all[k.kind] >= limit.all:
		err = failure.Errorf(sequencer.ErrUnavailable,
			"grid: this member has %d connections of %s, the most that it takes; use another member, or come again later",
			p.all[k.kind], limit.name)
	}
	if err != nil {
		p.refused++
		return nil, func() {}, err
	}
	if share == nil {
		if p.peers == nil {
			p.peers = map[placeKey]*peerShare{}
		}
		share = &peerShare{bodies: newBudget(peerBodies, peerWaits), rate: newBodyRate()}
		p.peers[k] = share
	}
	share.connections++
	p.all[k.kind]++
	return share, sync.OnceFunc(func() { p.leave(k, share) }), nil
}

func (p *places) leave(k placeKey, share *peerShare) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[k.kind]--
	if share.connections--; share.connections == 0 {
		delete(p.peers, k)
	}
}

func (p *places) refusals() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}
