package transport

// Servers of an anchored grid that were started from copies of one another's data have one
// grid ID and the same server IDs. What tells them apart is the claim of their rosters
// (A9): it is stated when a stream is opened.

// Claims compares the claims of a server's roster and of streams to it. Its methods may
// be called from any goroutine.
type Claims interface {
	// Own returns the claim of the server's roster, zero for none.
	Own() [16]byte
	// Admit returns nil if a stream that states a claim is taken.
	Admit(claim [16]byte) error
}

// NoClaims are the claims of a server without an anchor: it takes every stream.
type NoClaims struct{}

// Own implements Claims.
func (NoClaims) Own() [16]byte { return [16]byte{} }

// Admit implements Claims.
func (NoClaims) Admit([16]byte) error { return nil }

// DropOthers ends the streams that were opened under another claim than the one of now.
// Raft opens those that it needs again.
func (s *RaftStream) DropOthers() {
	own := s.claims.Own()
	s.mu.Lock()
	var others []*raftConn
	for conn := range s.open {
		if conn.claim != own {
			others = append(others, conn)
		}
	}
	s.mu.Unlock()
	for _, conn := range others {
		_ = conn.raw.Close()
	}
}
