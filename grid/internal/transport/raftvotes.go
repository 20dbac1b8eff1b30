package transport

import (
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
)

// hashicorp/raft v1.8.0 refuses a vote to every server that has none in its own configuration. That
// configuration may be old: if the leader dies after it has given a server a vote and before another
// voter receives the change, the two may be the only remaining majority, and neither is ever elected.
// Raft needs no such check (Ongaro, Consensus: Bridging Theory and Practice, section 4.1: a server
// votes for a candidate that is not in its latest configuration); it protects a leader from removed
// servers. So a server without contact to a leader votes by term and log alone.

// voting returns an admitted request in the form for Raft, or a reply to give instead.
func (v RaftView) voting(command any) (passed, answer any) {
	switch c := command.(type) {
	case *raft.RequestVoteRequest:
		if v.outdatedFor(c.RPCHeader) {
			byLog := *c
			byLog.ID = nil // as in Raft versions without IDs and without this check
			return &byLog, nil
		}
	case *raft.RequestPreVoteRequest:
		if v.outdatedFor(c.RPCHeader) {
			return nil, v.preVote(c)
		}
	}
	return command, nil
}

// outdatedFor reports whether this server's configuration may be too old to decide whether a candidate
// has a vote.
func (v RaftView) outdatedFor(h raft.RPCHeader) bool {
	return !v.empty && !v.inTouch && v.leader == "" && !v.votes(raft.ServerID(h.ID))
}

// preVote answers whether this server would vote for a candidate. It promises nothing.
func (v RaftView) preVote(c *raft.RequestPreVoteRequest) *raft.RequestPreVoteResponse {
	index, term := v.last()
	newer := c.LastLogTerm > term || c.LastLogTerm == term && c.LastLogIndex >= index
	return &raft.RequestPreVoteResponse{Term: max(v.term, c.Term), Granted: c.Term >= v.term && newer}
}

// raftTouch is the silence after which a server no longer counts as in touch with its leader: twice
// the election timeout.
const raftTouch = 2 * HeartbeatTimeout

// HeartbeatTimeout is the silence from a leader after which a server starts an election.
const HeartbeatTimeout = 1500 * time.Millisecond

// RaftViewOf returns a Raft server's current state, including the members, and the leader it accepts
// pushes from, "" for none.
func RaftViewOf(node *raft.Raft, self, follows raft.ServerID, member func(raft.ServerID) bool) RaftView {
	_, leader := node.LeaderWithID()
	servers := node.GetConfiguration().Configuration().Servers
	v := RaftView{self: self, term: node.CurrentTerm(), leader: leader, empty: len(servers) == 0, learns: leader == "" &&
		follows != ""}
	v.inTouch = node.State() == raft.Leader || leader != "" && time.Since(node.LastContact()) < raftTouch
	v.knows = func(id raft.ServerID) bool {
		return follows != "" && id == follows ||
			slices.ContainsFunc(servers, func(s raft.Server) bool { return s.ID == id }) || member(id)
	}
	v.votes = func(id raft.ServerID) bool {
		return slices.ContainsFunc(servers, func(s raft.Server) bool { return s.ID == id && s.Suffrage == raft.Voter })
	}
	v.last = func() (index, term uint64) { return lastOf(node.Stats()) }
	return v
}

// lastOf returns the index and the term of the last entry, which may be in a snapshot
// only, out of Raft's own account.
func lastOf(stats map[string]string) (index, term uint64) {
	number := func(key string) uint64 {
		n, _ := strconv.ParseUint(stats[key], 10, 64) // Raft writes numbers there
		return n
	}
	index, term = number("last_log_index"), number("last_log_term")
	if snapshot := number("last_snapshot_index"); snapshot > index {
		return snapshot, number("last_snapshot_term")
	}
	return index, term
}
