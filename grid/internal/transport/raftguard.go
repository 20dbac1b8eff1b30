package transport

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Raft accepts every message that it is given: any higher term, any leader, and entries that make its
// own code panic. This guard applies all checks that one server can make without proof of identity,
// before Raft receives a message.

// Limits on accepted terms. A successful election takes one term, so a server that was away for a year
// meets a term higher by some thousands.
const (
	raftTermStep  = 1 << 20 // above the own term
	raftFirstTerm = 1 << 40 // of an empty server's first leader
)

// RaftView is the state of a Raft server when a message arrives.
type RaftView struct {
	self    raft.ServerID
	term    uint64 // its own
	empty   bool   // it has no configuration: it follows the first leader that contacts it
	leader  raft.ServerID
	inTouch bool                     // it leads, or its leader is in touch
	learns  bool                     // it has no leader, and takes the pushes of one
	knows   func(raft.ServerID) bool // servers of its configuration and of its roster
	votes   func(raft.ServerID) bool // reports whether a server has a vote in its configuration
	// last returns the index and the term of its last entry.
	last func() (index, term uint64)
	// followed is the last server that sent accepted entries. While a server catches up, neither its
	// configuration nor its roster may include that leader yet.
	followed raft.ServerID
}

// Reasons to refuse a Raft message.
var (
	errTermTooHigh   = errors.New("grid: the term is higher than any that this grid can have reached")
	errUnknownServer = errors.New("grid: the Raft server is unknown here")
	errNotItsLeader  = errors.New("grid: only the leader that this server follows may pass the lead on")
	errBadEntries    = errors.New("grid: the Raft entries are not as any leader sends them")
)

// admit returns nil if a request may go to Raft, or the reason to refuse it.
func (v RaftView) admit(command any) error {
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		return errors.Join(v.from(c.RPCHeader), v.believes(c.Term), checkEntries(c))
	case *raft.InstallSnapshotRequest:
		return errors.Join(v.from(c.RPCHeader), v.believes(c.Term), checkSnapshot(c))
	case *raft.RequestVoteRequest:
		return errors.Join(v.from(c.RPCHeader), v.believes(c.Term), v.believes(c.LastLogTerm))
	case *raft.RequestPreVoteRequest:
		return errors.Join(v.from(c.RPCHeader), v.believes(c.Term), v.believes(c.LastLogTerm))
	case *raft.TimeoutNowRequest:
		if from := raft.ServerID(c.ID); from == "" || from != v.leader {
			return fmt.Errorf("%w: request from %.80q", errNotItsLeader, from)
		}
		return nil
	}
	return fmt.Errorf("grid: a Raft request of type %T is not expected", command)
}

func (v RaftView) believes(term uint64) error {
	limit := v.term + raftTermStep
	if v.empty {
		limit = raftFirstTerm
	}
	if term > limit {
		return fmt.Errorf("%w: %d, this server is at %d", errTermTooHigh, term, v.term)
	}
	return nil
}

// from checks the sender of votes, entries and snapshots. All servers in this one's view may have been
// replaced while it was partitioned, so it accepts an unknown sender while it has no leader.
func (v RaftView) from(h raft.RPCHeader) error {
	from, err := v.sender(h)
	if inTouch := v.learns || !v.empty && v.inTouch; err == nil && inTouch && !v.knows(from) && from != v.followed {
		err = fmt.Errorf("%w: %.80q, and this server is in touch with its leader", errUnknownServer, from)
	}
	return err
}

// sender returns the server that a request names as its sender. Raft does without its
// own checks if none is named.
func (v RaftView) sender(h raft.RPCHeader) (raft.ServerID, error) {
	from := raft.ServerID(h.ID)
	named, _, err := CutRaftAddress(raft.ServerAddress(h.Addr))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", errUnknownServer, err)
	case named != string(from):
		return "", fmt.Errorf("%w: %.80q, with the address of %.80q", errUnknownServer, from, named)
	case from == v.self:
		return "", fmt.Errorf("%w: it calls itself by this server's name", errUnknownServer)
	}
	return from, nil
}

// checkEntries refuses entries over which Raft panics, or that leave a gap in the log.
func checkEntries(c *raft.AppendEntriesRequest) error {
	if c.PrevLogTerm > c.Term {
		return fmt.Errorf("%w: an entry of term %d in a request of term %d", errBadEntries, c.PrevLogTerm, c.Term)
	}
	index, term := c.PrevLogEntry, c.PrevLogTerm
	for _, entry := range c.Entries {
		index++
		switch {
		case entry == nil:
			return fmt.Errorf("%w: entry %d is missing", errBadEntries, index)
		case entry.Index != index || index == 0:
			return fmt.Errorf("%w: entry %d where %d follows", errBadEntries, entry.Index, index)
		case entry.Term < term || entry.Term > c.Term:
			return fmt.Errorf("%w: entry %d of term %d", errBadEntries, index, entry.Term)
		}
		term = entry.Term
		if err := checkEntry(entry); err != nil {
			return err
		}
	}
	return nil
}

func checkEntry(entry *raft.Log) error {
	switch entry.Type {
	case raft.LogCommand, raft.LogNoop, raft.LogBarrier:
		return nil
	case raft.LogConfiguration:
		return checkConfiguration(entry.Data)
	}
	return fmt.Errorf("%w: entry %d of type %d", errBadEntries, entry.Index, entry.Type)
}

// checkSnapshot refuses the head of a snapshot over which Raft panics.
func checkSnapshot(c *raft.InstallSnapshotRequest) error {
	switch {
	case c.LastLogTerm > c.Term:
		return fmt.Errorf("%w: a snapshot of term %d in a request of term %d", errBadEntries, c.LastLogTerm, c.Term)
	case c.SnapshotVersion != raft.SnapshotVersionMax:
		return fmt.Errorf("%w: a snapshot of version %d", errBadEntries, c.SnapshotVersion)
	case c.Size < 0 || c.Size > raftRequestMax:
		return fmt.Errorf("%w: a snapshot of %d bytes", errBadEntries, c.Size)
	}
	return checkConfiguration(c.Configuration)
}

// checkConfiguration refuses a configuration that is unreadable, or cannot elect a leader. Raft panics
// over an unreadable one.
func checkConfiguration(data []byte) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: a configuration: %v", errBadEntries, broken)
		}
	}()
	voters := 0
	for _, s := range raft.DecodeConfiguration(data).Servers {
		if s.ID == "" || s.Address == "" {
			return fmt.Errorf("%w: a configuration with a server that has no name or address", errBadEntries)
		}
		if s.Suffrage == raft.Voter {
			voters++
		}
	}
	if voters == 0 {
		return fmt.Errorf("%w: a configuration without a voter", errBadEntries)
	}
	return nil
}
