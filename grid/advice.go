package grid

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/leader"
)

const (
	adviseEvery = time.Second
	// adviseAfter is how long a member takes part in no agreement at least before
	// it says so: an ordinary election is over long before.
	adviseAfter = 5 * time.Second
)

// advise keeps the quorum warning of the status until ctx ends, and logs its
// beginning and its end.
func (m *Member) advise(ctx context.Context) {
	ticker := time.NewTicker(adviseEvery)
	defer ticker.Stop()
	var since time.Duration // of the lack of a leader before the first raise, by the member's clock; 0 = none
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := m.clock.Mono()
		if !m.leaderless() {
			since = 0
		} else if since == 0 {
			since = now
		}
		if !m.quorumLost(since) {
			if m.worry.Swap(nil) != nil {
				m.log.Info("quorum restored")
			}
			continue
		}
		text := m.quorumAdvice()
		warning := errQuorumLost.Error() + ": " + text
		if m.worry.Swap(&warning) == nil {
			m.log.Error("quorum lost", "advice", text)
		}
	}
}

// quorumLost reports whether this member takes part in no agreement and has to say
// so: it has seen neither a leader nor a majority for a while, or, whatever it sees,
// no raise of the ceiling for half a window. A failed disk and a copied data directory
// have words of their own.
func (m *Member) quorumLost(since time.Duration) bool {
	if m.raft.DiskFailure() != nil || m.formation.Clash() != nil {
		return false
	}
	if since > 0 && m.clock.Mono()-since >= adviseAfter {
		return true
	}
	s := m.standing()
	return m.raft.TakesPart() && s.roster.Assigned() && s.raised > max(s.halfWindow(), adviseAfter)
}

// leaderless reports whether this member takes part in a grid, knows no leader and
// does not see voters enough to elect one.
func (m *Member) leaderless() bool {
	if !m.raft.TakesPart() || m.raft.Node().Leader() != "" || m.raft.Node().Leads() {
		return false
	}
	q := m.quorum()
	return q.Voters() > 0 && !q.Majority()
}

// quorumAdvice returns a text with the loss, the end of the grants, and the remedy.
func (m *Member) quorumAdvice() string {
	q := m.quorum()
	text := fmt.Sprintf("%d of %d voters are seen alive. ", len(q.Alive), q.Voters())
	if r := m.state.Roster(); r.Formed() {
		text += fmt.Sprintf("Grants end at %s (the ceiling); no IDs are issued after that. ", instant(r.Ceiling).Format(time.RFC3339))
	}
	return text + m.remedy(q)
}

// remedy returns the remedy for this member, durable or not, when it has no quorum.
func (m *Member) remedy(q leader.Quorum) string {
	switch {
	case q.Voters() == 0 || q.Majority():
		return "This is a majority, but no agreement reaches this member: check that the members reach each other at their Raft and API addresses, " +
			"in both directions and with the same TLS settings, and read the log of the leader. A removed member joins again when the leader reaches it"
	case q.Restorable():
		return "Start these members again with their data directories, or restore the network to them: " + m.describe(q.Kept) +
			". If the remaining directories are not a majority, see `snowgrid recover --help`"
	case m.cfg.DataDir == "":
		return fmt.Sprintf("The lost voters stored nothing on disk (%s), so the majority is lost for good, unless they still run where this member cannot reach them. "+
			"Make sure that they do not run, then use `snowgrid init --force --addr %s`: the survivors form a new grid, and its grants begin after a wait. "+
			"With --floor they begin above the largest ID that you know of. Run it on one member only", m.describe(q.Lost), m.addrs.API)
	default:
		return fmt.Sprintf("The lost voters stored nothing on disk (%s), so the majority is lost for good. "+
			"Stop the remaining members, and run `snowgrid recover` with their data directories; see its --help", m.describe(q.Lost))
	}
}

// quorum returns the voters in the view of this member, none without a grid.
func (m *Member) quorum() leader.Quorum {
	node := m.raft.Node()
	if node == nil {
		return leader.Quorum{}
	}
	return leader.QuorumOf(m.leaderView(node), leader.ServerID(node.Server))
}

// describe lists servers with an address each: of gossip, or of Raft if that is the only
// known one.
func (m *Member) describe(servers []leader.ServerID) string {
	var out []string
	for _, id := range servers {
		addr := ""
		if member, found := leader.MemberOf(m.state.Roster(), id); found {
			addr = member.Gossip
		} else if node := m.raft.Node(); node != nil {
			configured := node.Address(raft.ServerID(id))
			addr = string(configured)
			if _, host, err := transport.CutRaftAddress(configured); err == nil {
				addr = host
			}
		}
		out = append(out, fmt.Sprintf("%s, %s", id, addr))
	}
	return strings.Join(out, "; ")
}
