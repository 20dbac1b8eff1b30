package transport

import (
	"github.com/hashicorp/raft"
)

// Names for the tests in package transport_test, which use gridtest, which imports grid.
const (
	HandshakeTimeout = handshakeTimeout
	HandshakesMax    = handshakesMax
)

var (
	ReadGreeting = readGreeting
	ReadPreamble = readPreamble
)

// GuardForTest puts the guard in front of a transport; begin lets requests in to a server
// whose roster names no member.
func GuardForTest(inner *raft.NetworkTransport) (t raft.Transport, begin func(node *raft.Raft, self raft.ServerID)) {
	guarded := GuardRaft(inner, func(error) {})
	return guarded, func(node *raft.Raft, self raft.ServerID) {
		guarded.Begin(func() RaftView { return RaftViewOf(node, self, func(raft.ServerID) bool { return false }) })
	}
}
