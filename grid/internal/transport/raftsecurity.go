package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/snowgrid/snowgrid/security"
)

// secureDial begins TLS on a stream that this member opened, and checks that a member answers.
// Without credentials the stream stays as it is.
func (s *RaftStream) secureDial(ctx context.Context, raw net.Conn, hostPort string) (net.Conn,
	*security.Remote, error) {
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
		if advice := security.Explain(err); advice != err.Error() { // not for a connection that just ended
			err = fmt.Errorf("%w: %s", security.ErrUnauthenticated, advice)
			s.deny(raw, security.Peer{}, err)
		}
		return raw, nil, err
	}
	state := conn.ConnectionState()
	remote := s.creds.Caller(&state)
	return conn, remote, s.authorize(raw, remote, security.Raft)
}

// authorize returns nil if the other end of an accepted stream may do an action; remote is nil
// in clear text.
func (s *RaftStream) authorize(raw net.Conn, remote *security.Remote, action security.Action) error {
	peer, err := security.Everyone(), error(nil)
	if remote != nil {
		peer, err = remote.Peer()
	}
	if err == nil {
		err = security.Authorize(peer, action, "")
	}
	if err != nil {
		s.deny(raw, peer, err)
	}
	return err
}

func (s *RaftStream) deny(raw net.Conn, who security.Peer, err error) {
	if s.denied != nil {
		s.denied(raw.RemoteAddr(), who, err)
	}
}

// raftActions maps the first byte of a request, its kind, to an action. Other kinds are refused.
var raftActions = map[byte]security.Action{
	rpcAppendEntries: security.Raft, rpcRequestVote: security.Raft, rpcInstallSnapshot: security.Raft,
	rpcTimeoutNow: security.Raft, rpcRequestPreVote: security.Raft,
}

// The bytes that requests begin with, as hashicorp/raft numbers them.
const (
	rpcAppendEntries = iota
	rpcRequestVote
	rpcInstallSnapshot
	rpcTimeoutNow
	rpcRequestPreVote
)
