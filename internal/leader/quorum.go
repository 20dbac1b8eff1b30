package leader

// Quorum is the voters of a grid as one of its members sees them, leader or not.
type Quorum struct {
	Alive []ServerID // gossip sees them, or it is this member
	Kept  []ServerID // not alive, and with a disk: they come back with everything that they agreed to
	Lost  []ServerID // not alive, and without a disk: they never come back as the same servers
}

// QuorumOf sorts the voters of a view, as seen by the member of a server.
func QuorumOf(v View, self ServerID) (q Quorum) {
	for _, s := range v.Servers {
		_, seen := v.peerOf(s.ID)
		switch {
		case !s.Voter:
		case seen || s.ID == self:
			q.Alive = append(q.Alive, s.ID)
		case s.ID.IsDurable():
			q.Kept = append(q.Kept, s.ID)
		default:
			q.Lost = append(q.Lost, s.ID)
		}
	}
	return q
}

// Voters returns the number of voters, 0 where none are known.
func (q Quorum) Voters() int { return len(q.Alive) + len(q.Kept) + len(q.Lost) }

// Majority reports whether enough voters are alive to agree.
func (q Quorum) Majority() bool { return 2*len(q.Alive) > q.Voters() }

// Restorable reports whether enough voters would be alive to agree, if those with a disk
// were started again.
func (q Quorum) Restorable() bool { return 2*(len(q.Alive)+len(q.Kept)) > q.Voters() }
