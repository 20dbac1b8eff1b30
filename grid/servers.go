package grid

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/partition"
)

// Every member is a Raft server, so that every member learns the roster by the
// log. Most only listen; a few vote: one of one or two members, three of three or
// more. That is enough to lose one, and each more would slow every step.

// votersFor returns how many voters a grid of n members has.
func votersFor(n int) int {
	if n < 3 {
		return 1
	}
	return 3
}

// configured returns Raft's servers.
func (l *leader) configured() []raft.Server {
	future := l.node.raft.GetConfiguration()
	if future.Error() != nil {
		return nil
	}
	return future.Configuration().Servers
}

// admitted makes servers of the members that ask to join, and returns those that
// are.
func (l *leader) admitted() []partition.Member {
	var out []partition.Member
	for _, j := range l.joining() {
		address := raftAddress(j.server, j.member.Raft)
		if !l.serves(j.server, address) {
			if err := l.node.raft.AddNonvoter(j.server, address, 0, raftCallTimeout).Error(); err != nil {
				l.report("add a server", err)
				continue
			}
		}
		out = append(out, j.member)
	}
	return out
}

// joining returns the requests to join that are not too old, forgetting the
// others and those of members.
func (l *leader) joining() []joining {
	m, r := l.m, l.m.roster.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []joining
	for inc, j := range m.joins {
		_, in := r.Member(inc)
		switch {
		case m.clock.Mono()-j.at > joinLives, m.leaves[inc], in && l.serves(j.server, raftAddress(j.server, j.member.Raft)):
			delete(m.joins, inc)
		default:
			out = append(out, j)
		}
	}
	return out
}

// serves reports whether a server is configured with an address.
func (l *leader) serves(id raft.ServerID, address raft.ServerAddress) bool {
	for _, s := range l.configured() {
		if s.ID == id {
			return s.Address == address || l.m.lone
		}
	}
	return false
}

// servers makes one step towards the right voters: a new one before an old one
// goes, the dead before the surplus. A dead voter that has a disk may come back
// with all that it agreed to, so it stays until another takes its place.
func (l *leader) servers() {
	wanted := l.wanted()
	if len(wanted) == 0 {
		return // everybody leaves
	}
	voting, absent := 0, 0
	var idle []*raft.Server
	var remove, demote, leaver *raft.Server
	all := l.configured()
	for i := range all {
		s := &all[i]
		durable, stays := wanted[s.ID]
		_, member := l.memberOf(s.ID)
		switch {
		case !stays && member: // it hands over first, and has to hear of the roster
			if s.Suffrage == raft.Voter && s.ID != l.node.server {
				leaver = s
			}
		case !stays && s.ID != l.node.server && !l.expected(s.ID):
			remove = s
			if s.Suffrage == raft.Voter && isDurable(s.ID) && !l.left(s.ID) {
				absent++
			}
		case stays && s.Suffrage == raft.Voter:
			voting++
			if s.ID != l.node.server && (demote == nil || !durable) {
				demote = s
			}
		case stays && durable:
			idle = slices.Insert(idle, 0, s)
		case stays:
			idle = append(idle, s)
		}
	}
	want := votersFor(len(wanted) + absent)
	node := l.node.raft
	var promote *raft.Server
	if voting < want {
		promote = l.answering(idle)
	}
	switch {
	case promote != nil:
		l.report("promote a voter", node.AddVoter(promote.ID, promote.Address, 0, raftCallTimeout).Error())
	case remove != nil && (absent == 0 || voting >= want):
		l.report("remove a server", node.RemoveServer(remove.ID, 0, raftCallTimeout).Error())
	case leaver != nil && voting >= want:
		l.report("demote a voter", node.DemoteVoter(leaver.ID, 0, raftCallTimeout).Error())
	case voting > want && demote != nil:
		l.report("demote a voter", node.DemoteVoter(demote.ID, 0, raftCallTimeout).Error())
	}
}

// answering returns the first of several servers whose member answers, nil if none
// does. A dead one that was given a vote, because nobody had noticed yet that it
// died together with a voter, would count against the majority and cost it.
func (l *leader) answering(servers []*raft.Server) *raft.Server {
	for _, s := range servers {
		member, found := l.memberOf(s.ID)
		if !found || l.witness.doubts(member.Incarnation) {
			continue
		}
		ctx, cancel := context.WithTimeout(l.m.ctx, callTimeout)
		_, err := l.m.hello(ctx, member.API, member.Incarnation)
		cancel()
		if err == nil {
			return s
		}
	}
	return nil
}

// left reports whether a server's member said goodbye.
func (l *leader) left(id raft.ServerID) bool {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	for inc := range m.leaves {
		if serverID(inc, true) == id || serverID(inc, false) == id {
			return true
		}
	}
	return false
}

// wanted returns the servers of the roster's members that do not leave, and
// whether each is durable.
func (l *leader) wanted() map[raft.ServerID]bool {
	m := l.m
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[raft.ServerID]bool{}
	for _, member := range m.roster.Load().Members {
		if !m.leaves[member.Incarnation] {
			out[serverID(member.Incarnation, member.Durable)] = member.Durable
		}
	}
	return out
}

// expected reports whether a server that is no member is about to become one:
// it asks to join, or gossip sees it alive.
func (l *leader) expected(id raft.ServerID) bool {
	m := l.m
	m.mu.Lock()
	for _, j := range m.joins {
		if j.server == id {
			m.mu.Unlock()
			return true
		}
	}
	m.mu.Unlock()
	p, alive := m.gossip.find(func(p peer) bool { return serverID(p.Incarnation, p.Durable) == id })
	m.mu.Lock()
	defer m.mu.Unlock()
	return alive && !m.leaves[p.Incarnation]
}
