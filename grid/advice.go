package grid

import (
	"sync/atomic"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"

	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

const (
	adviseEvery = time.Second
	// adviseRest is the wait for the quorum check after a ceiling raise, which proves a quorum.
	adviseRest = 2 * time.Second
	// adviseAfter is the minimum time without quorum before a warning; far longer than an election.
	adviseAfter = 5 * time.Second
)

// health is a member's view of its own place in the grid: whether it serves, is ready, and
// has a quorum.
type health struct {
	*deps

	view          func(*raftlog.Node) leader.View
	apart         func() []plan.Pair     // members that do not reach each other
	notRegistered func() error           // nil unless the member is to have a number and has none
	wasReady      atomic.Bool            // in this grid
	wasSettled    atomic.Bool            // see standing
	leaving       atomic.Bool            // Leave was called
	quorumWarning atomic.Pointer[string] // nil for none
}

func (h *health) warning() string {
	if worry := h.quorumWarning.Load(); worry != nil {
		return *worry
	}
	return ""
}

// advise keeps the status's quorum warning until ctx ends, and logs when it begins and ends.
func (h *health) advise(ctx context.Context) {
	timer := time.NewTimer(adviseEvery)
	defer timer.Stop()
	var since time.Duration // start of the lack of a leader before the first raise, by the member's clock; 0 = none
	var raised *state.Raise // the last that was seen
	hung := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.state.Changed():
			if last := h.state.LastRaise(); last != raised && since == 0 && h.warning() == "" && h.raft.DiskHang() == nil {
				raised = last
				timer.Reset(adviseRest)
			}
			continue
		case <-timer.C:
			timer.Reset(adviseEvery)
		}
		hung = h.noteHang(hung)
		now := h.clock.Mono()
		if !h.leaderless() || !h.isStranded() {
			since = 0
		} else if since == 0 {
			since = now
		}
		if !h.quorumLost(since) {
			if h.quorumWarning.Swap(nil) != nil {
				h.log.Info("quorum restored")
			}
			continue
		}
		text := h.quorumAdvice()
		warning := quorumLostPrefix + text
		if h.quorumWarning.Swap(&warning) == nil {
			h.log.Error("quorum lost", "advice", text)
		}
	}
}

// noteHang logs that a disk hangs or no longer hangs, and returns whether it does.
func (h *health) noteHang(before bool) bool {
	hang := h.raft.DiskHang()
	switch {
	case hang != nil && !before:
		h.log.Error("disk hangs: this member takes no part, and others replace it, until its writes return", "error", hang)
	case hang == nil && before:
		h.log.Info("disk no longer hangs")
	}
	return hang != nil
}

// quorumLost reports whether this member has to warn of a lost quorum: it has seen neither a leader
// nor a majority for a while, or, whatever it sees, no ceiling raise for half a window. A disk
// that failed or hangs and a copied data directory have their own warnings.
func (h *health) quorumLost(since time.Duration) bool {
	if h.raft.DiskFailure() != nil || h.raft.DiskHang() != nil || h.formation.Clash() != nil {
		return false
	}
	if since > 0 && h.clock.Mono()-since >= adviseAfter {
		return true
	}
	s := h.standing()
	return h.raft.TakesPart() && s.roster.Assigned() && s.raised > max(s.halfWindow(), adviseAfter)
}

// leaderless reports whether this member is in a grid and has no leader.
func (h *health) leaderless() bool {
	return h.raft.TakesPart() && h.raft.Node().Leader() == "" && !h.raft.Node().Leads()
}

// isStranded reports whether this member does not see voters enough to elect a leader.
func (h *health) isStranded() bool {
	q := h.quorum()
	return q.Voters() > 0 && !q.Majority()
}

// quorumAdvice returns a text with the loss, the grants' end, and the remedy.
func (h *health) quorumAdvice() string {
	q := h.quorum()
	text := spelling.CountOf(len(q.Alive), q.Voters(), "voter") + " alive. "
	if r := h.state.Roster(); r.Formed() {
		text += fmt.Sprintf("Grants end at %s (the ceiling); no IDs are issued after that. ",
			r.Ceiling.TimeOrZero().Format(time.RFC3339))
	}
	if invalid := h.creds.invalidText(); invalid != "" { // no other remedy helps before
		return text + "Cause: " + invalid
	}
	return text + h.remedy(q, h.peers())
}

// peers returns the members in this member's view, and itself.
func (h *health) peers() []leader.Peer {
	self := leader.Peer{Incarnation: h.self, API: h.record().API, Durable: h.durable()}
	if node := h.raft.Node(); node != nil {
		return slices.Concat([]leader.Peer{self}, h.view(node).Peers)
	}
	return []leader.Peer{self}
}

// copiedAmong returns a text about a durable member with two starts among the peers, "" for none: they
// have one vote together, and each can end the other's lead.
func copiedAmong(peers []leader.Peer) string {
	first := map[roster.MemberID]leader.Peer{}
	for _, p := range peers {
		id := p.Incarnation.Member()
		other, found := first[id]
		if found && p.Durable && other.Incarnation != p.Incarnation {
			return fmt.Sprintf("two processes have the identity of member %s, at %s and %s: %s", id, other.API, p.API,
				formation.CloneAdvice)
		}
		first[id] = p
	}
	return ""
}

// remedy returns the remedy for this member, durable or not, when it has no quorum.
func (h *health) remedy(q leader.Quorum, peers []leader.Peer) string {
	copied := copiedAmong(peers)
	switch {
	case copied != "" && (q.Voters() == 0 || q.Majority()):
		return "Cause: " + copied
	case q.Voters() == 0 || q.Majority():
		return "This is a majority, but this member receives no commits: check that the members reach each other at their " +
			"Raft and API addresses, in both directions and with the same TLS settings, and that their disks do not hang, " +
			"and read the leader's log. A removed member joins again when the leader reaches it"
	case q.Restorable():
		return "Start these members again with their data directories, or restore the network to them: " +
			h.describe(q.Kept) +
			". If the remaining directories are not a majority, see `snowgrid recover --help`"
	case !h.durable():
		return fmt.Sprintf("The lost voters stored nothing on disk (%s), so the majority is lost permanently, unless they "+
			"still run where this member cannot reach them. "+
			"Make sure that they are stopped, then run `snowgrid init --force --addr %s`: the survivors form a new grid, and "+
			"its grants begin after a wait. "+
			"With --floor they begin above the largest ID in your data. Run it on one member only", h.describe(q.Lost),
			h.record().API)
	default:
		return fmt.Sprintf("The lost voters stored nothing on disk (%s), so the majority is lost permanently. "+
			"Stop the remaining members, and run `snowgrid recover` with their data directories; see its --help",
			h.describe(q.Lost))
	}
}

// quorum returns the voters in this member's view, none without a grid.
func (h *health) quorum() leader.Quorum {
	node := h.raft.Node()
	if node == nil {
		return leader.Quorum{}
	}
	v := h.view(node)
	v.Servers = raftlog.ServersOf(node.Voters())
	return leader.QuorumOf(v, leader.ServerID(node.Server))
}

// raftHost returns the host:port that a server was configured with, "" if it is not.
func raftHost(node *raftlog.Node, id string) string {
	configured := node.Address(raft.ServerID(id))
	if _, host, err := transport.CutRaftAddress(configured); err == nil {
		return host
	}
	return string(configured)
}

// describe lists servers with one address each: the gossip address, or the Raft address if no other
// is known.
func (h *health) describe(servers []leader.ServerID) string {
	var out []string
	for _, id := range servers {
		addr, name := "", ""
		if member, found := leader.MemberOf(h.state.Roster(), id); found {
			addr, name = member.Gossip, h.nameOf(member.Incarnation)
		} else if node := h.raft.Node(); node != nil {
			addr = raftHost(node, string(id))
		}
		if name != "" {
			name += " "
		}
		out = append(out, fmt.Sprintf("%s%s, %s", name, id, addr))
	}
	return strings.Join(out, "; ")
}
