package leader

// Quorum lists a grid's voters as any member sees them.
type Quorum struct {
	Alive []ServerID // gossip sees them, or it is this member
	Kept  []ServerID // not alive, with a disk: a restart restores their log
	Lost  []ServerID // not alive, without a disk: a restart creates another server
}

// QuorumOf sorts a view's voters, for the member with a server.
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

// Voters returns the number of voters, 0 if the configuration is empty.
func (q Quorum) Voters() int { return len(q.Alive) + len(q.Kept) + len(q.Lost) }

// Majority reports whether enough voters are alive to agree.
func (q Quorum) Majority() bool { return 2*len(q.Alive) > q.Voters() }

// Restorable reports whether enough voters would be alive to agree after a restart from their
// disks.
func (q Quorum) Restorable() bool { return 2*(len(q.Alive)+len(q.Kept)) > q.Voters() }
