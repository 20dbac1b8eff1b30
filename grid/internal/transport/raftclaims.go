package transport

// Servers in an anchored grid that were started from copied data share a grid ID and server IDs. Their
// rosters' claims distinguish them (A9): a stream states the claim when it opens.

// Claims compares the claims of a server's roster and of streams to it. Its methods are safe for
// concurrent use.
type Claims interface {
	// Own returns the claim of the server's roster, zero for none.
	Own() [16]byte
	// Admit returns nil if a stream that states a claim is taken.
	Admit(claim [16]byte) error
}

// DropOthers ends streams that were opened under another claim than the current one. Raft reopens
// those it needs.
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
