package transport

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/snowgrid/snowgrid/security"
)

// secureDial begins TLS on a stream that this member opened, and checks that a member answers.
// Without credentials the stream stays as it is.
func (s *RaftStream) secureDial(ctx context.Context, raw net.Conn, hostPort string) (net.Conn, *security.Remote, error) {
	if s.creds == nil {
		return raw, nil, nil
	}
	conn := tls.Client(raw, s.creds.Client(hostPort))
	if err := conn.HandshakeContext(ctx); err != nil {
		return raw, nil, err
	}
	state := conn.ConnectionState()
	remote := s.creds.Called(&state)
	_, err := remote.Peer()
	return conn, remote, err
}

// secureAccept begins TLS on a stream that was accepted, and checks that a member opened it.
func (s *RaftStream) secureAccept(raw net.Conn) (net.Conn, *security.Remote, error) {
	if s.creds == nil {
		return raw, nil, nil
	}
	conn := tls.Server(raw, s.creds.Server())
	if err := conn.HandshakeContext(s.ctx); err != nil {
		return raw, nil, err
	}
	state := conn.ConnectionState()
	remote := s.creds.Caller(&state)
	peer, err := remote.Peer()
	if err == nil {
		err = security.Authorize(peer, security.Raft, "")
	}
	if err != nil && s.denied != nil {
		s.denied(raw.RemoteAddr(), peer, err)
	}
	return conn, remote, err
}
