package transport

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/acceptor"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Names for the tests in package transport_test, which use gridtest, which imports grid.
const (
	HandshakeTimeout = acceptor.Timeout
	// SilentMost is how long a stream may be silent: while it waits for a place, and in its handshake.
	SilentMost    = acceptor.WaitTimes*HandshakeTimeout + HandshakeTimeout/4 + HandshakeTimeout
	HandshakesMax = acceptor.Handshakes
)

var (
	ListenError  = listenError
	ReadGreeting = readGreeting
	ReadPreamble = readPreamble
)

// NoClaims are the claims of a server without an anchor: it takes every stream.
type NoClaims struct{}

// Own implements Claims.
func (NoClaims) Own() [16]byte { return [16]byte{} }

// Admit implements Claims.
func (NoClaims) Admit([16]byte) error { return nil }

// NoReleases accepts every stream.
type NoReleases struct{}

// Own implements Releases.
func (NoReleases) Own() roster.Release {
	return roster.Release{Min: roster.OldestProtocol, Max: roster.CurrentProtocol}
}

// Admit implements Releases.
func (NoReleases) Admit(roster.Release) error { return nil }

// GuardForTest puts the guard in front of a transport; begin lets requests in to a server
// whose roster names no member.
func GuardForTest(inner *raft.NetworkTransport) (t raft.Transport, begin func(node *raft.Raft, self raft.ServerID)) {
	guarded := GuardRaft(inner, func(error) {})
	return guarded, func(node *raft.Raft, self raft.ServerID) {
		guarded.Begin(func() RaftView { return RaftViewOf(node, self, "", func(raft.ServerID) bool { return false }) })
	}
}

// SealedPacket returns a datagram of a grid as memberlist has it.
func (k *Keyring) SealedPacket(t testing.TB, content []byte, label string) []byte {
	return k.sealPacket(t, content, label)
}

// SealedStream returns a message of a stream as memberlist has it.
func (k *Keyring) SealedStream(content []byte, label string) ([]byte, error) {
	return append(labelHeader(label), k.seal(content, label)...), nil
}

// Lead describes a server that leads, or does not.
type Lead struct {
	Term  uint64
	Knows raft.ServerID // the only other server
	Other bool          // another server leads
}

// BeginLead admits requests to a server with a lead.
func (t *GuardedRaft) BeginLead(l Lead) {
	t.Begin(func() RaftView {
		v := RaftView{self: "a", leader: "a", term: l.Term, knows: func(id raft.ServerID) bool { return id == l.Knows }}
		if l.Other {
			v.leader = "c"
		}
		return v
	})
}
