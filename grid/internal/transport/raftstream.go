package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
	"github.com/snowgrid/snowgrid/security"
)

// RaftCallTimeout bounds one call between Raft servers.
const RaftCallTimeout = 2 * time.Second

var errNotForUs = errors.New("grid: the stream is meant for another member")

// RaftAddress returns a server's address in a raftStream: ID@host:port. Two incarnations at one
// host:port have different addresses, so Raft's pool never mixes their streams.
func RaftAddress(id raft.ServerID, hostPort string) raft.ServerAddress {
	return raft.ServerAddress(string(id) + "@" + hostPort)
}

// CutRaftAddress splits an address made by RaftAddress. An ID may contain an @, a host:port does not.
func CutRaftAddress(address raft.ServerAddress) (id, hostPort string, err error) {
	at := strings.LastIndexByte(string(address), '@')
	if at < 1 || at > serverIDMax {
		return "", "", fmt.Errorf("grid: the Raft address %q is not ID@host:port with an ID of 1 to %d bytes", address,
			serverIDMax)
	}
	return string(address[:at]), string(address[at+1:]), nil
}

// RaftStream is the stream layer under Raft's network transport. Close also
// ends all its streams: the transport itself leaves the goroutines that serve
// silent peers running indefinitely.
type RaftStream struct {
	network  Network
	grid     [16]byte
	self     string
	address  raft.ServerAddress
	creds    *security.Credentials // nil: clear text
	denied   Denied
	acceptor *acceptor.Acceptor
	claims   Claims
	releases Releases
	limit    streamLimit   // of accepted streams
	large    chan struct{} // holds one while a request that is not small is read
	// Broken, if not nil, is called when an accepted stream has ended and the layer has not. It is set before
	// the first stream is accepted, and must not block.
	Broken func()
	// Election, if not nil, returns how long the writes of an election may take at present. A vote is
	// awaited for as long. It is set before Raft runs.
	Election func() time.Duration

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*raftConn]struct{} // nil once closed; guarded by mu
}

var _ raft.StreamLayer = (*RaftStream)(nil)

// Denied is called for a stream refused because its peer is not a member. It must not block. It may be
// nil.
type Denied func(from net.Addr, who security.Peer, err error)

// NewRaftStream takes over ln and accepts streams that are addressed to the server
// self of the given grid. advertise is the host:port others reach it at.
func NewRaftStream(ln net.Listener, nw Network, grid [16]byte, claims Claims, releases Releases, self, advertise string,
	creds *security.Credentials, denied Denied) *RaftStream {
	s := &RaftStream{
		claims:   claims,
		releases: releases,
		network:  nw,
		grid:     grid,
		self:     self,
		address:  RaftAddress(raft.ServerID(self), advertise),
		creds:    creds,
		denied:   denied,
		open:     make(map[*raftConn]struct{}),
		large:    make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.acceptor = acceptor.New(ln, handshakes(s.welcome))
	return s
}

// Accept implements net.Listener.
func (s *RaftStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.acceptor.Streams:
		return s.serveRaft(conn), nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener. Raft takes its String for the local server's
// address, so it has the form that Dial takes.
func (s *RaftStream) Addr() net.Addr { return raftAddr(s.address) }

// Close implements net.Listener: it ends the listener and every stream, dialed
// or accepted. It may be called more than once.
func (s *RaftStream) Close() error {
	s.cancel()
	s.mu.Lock()
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for conn := range open {
		_ = conn.raw.Close()
		if conn.unkeep != nil {
			conn.unkeep()
		}
	}
	s.acceptor.Close()
	return nil
}

// Dial implements raft.StreamLayer for addresses made by raftAddress.
func (s *RaftStream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	id, hostPort, err := CutRaftAddress(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	raw, err := s.network.Dial(ctx, hostPort)
	if err != nil {
		return nil, err
	}
	conn, err := s.introduce(ctx, raw, id, hostPort)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("grid: opening a Raft stream to %s: %w", address, err)
	}
	return conn, nil
}

// introduce is the dialer's half of the handshake.
func (s *RaftStream) introduce(ctx context.Context, raw net.Conn, id, hostPort string) (net.Conn, error) {
	interrupt := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	stream, remote, err := s.secureDial(ctx, raw, hostPort)
	claim := s.claims.Own()
	p := Preamble{Grid: s.grid, Claim: claim, Target: id, Release: s.releases.Own()}
	if err == nil {
		_, err = stream.Write(p.Encode())
	}
	if !interrupt() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return s.track(raw, stream, claim, remote)
}

// welcome is the listener's half of the handshake.
func (s *RaftStream) welcome(conn net.Conn) (net.Conn, error) {
	raw := s.limit.wrap(conn)
	stream, remote, err := s.secureAccept(raw)
	if err != nil {
		return nil, err
	}
	p, err := readPreamble(stream)
	if err != nil {
		return nil, err
	}
	if p.Grid != s.grid || p.Target != s.self {
		return nil, errNotForUs
	}
	if err := s.releases.Admit(p.Release); err != nil {
		return nil, err
	}
	if err := s.claims.Admit(p.Claim); err != nil {
		return nil, err
	}
	tracked, err := s.track(raw, stream, p.Claim, remote)
	if err != nil {
		return nil, err
	}
	raw.admit()
	return tracked, nil
}

// track remembers a stream until it is closed.
func (s *RaftStream) track(raw, stream net.Conn, claim [16]byte, remote *security.Remote) (net.Conn, error) {
	conn := &raftConn{Conn: stream, raw: raw, layer: s, claim: claim, remote: remote}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return nil, net.ErrClosed
	}
	s.open[conn] = struct{}{}
	if remote != nil {
		conn.unkeep = remote.Keep(func(error) { _ = raw.Close() })
	}
	return conn, nil
}

func (s *RaftStream) forget(conn *raftConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	if conn.unkeep != nil {
		conn.unkeep()
	}
}

// raftConn is a stream registered with its layer. Under TLS, raw is the stream beneath, which closes
// without waiting for the peer.
type raftConn struct {
	net.Conn
	raw   net.Conn
	layer *RaftStream
	claim [16]byte // stated when it was opened

	remote *security.Remote // nil in clear text
	unkeep func()           // ends the check of remote

	begins bool // the next write begins a request
}

// SetDeadline implements net.Conn. Raft sets one for each request that it makes.
func (c *raftConn) SetDeadline(t time.Time) error {
	c.begins = true
	return c.Conn.SetDeadline(t)
}

// Write implements net.Conn. A voter may take longer over a vote than over any other request: it stores
// the term and its vote first.
func (c *raftConn) Write(b []byte) (int, error) {
	if c.begins && len(b) > 0 && b[0] == rpcRequestVote && c.layer.Election != nil {
		if limit := c.layer.Election(); limit > RaftCallTimeout {
			_ = c.Conn.SetDeadline(time.Now().Add(limit))
		}
	}
	c.begins = false
	return c.Conn.Write(b)
}

func (c *raftConn) Close() error {
	c.layer.forget(c)
	return c.Conn.Close()
}

type raftAddr raft.ServerAddress

func (raftAddr) Network() string  { return "tcp" }
func (a raftAddr) String() string { return string(a) }

const idleStreams = 3

// NewRaft sends one request after the other to each server. More at a time
// would go through a pipeline, which is lost if it is refused something while there
// is more to send: the server then gets heartbeats but no entries until the end of the
// leader's term, and the leader's Raft cannot be shut down.
func NewRaft(stream raft.StreamLayer, book raft.ServerAddressProvider, log hclog.Logger) *raft.NetworkTransport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: book,
		Logger:                log,
		Stream:                stream,
		MaxPool:               idleStreams,
		MaxRPCsInFlight:       1,
		Timeout:               RaftCallTimeout,
	})
}
