package grid

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/leader"
	"github.com/snowgrid/snowgrid/roster"
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
	if m.raft.DiskFailure() != nil || m.clash.now() != nil {
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
	v := m.voters()
	return v.count() > 0 && !v.majority()
}

// quorumAdvice says in words what was lost, until when grants go on, and the remedy.
func (m *Member) quorumAdvice() string {
	v := m.voters()
	text := fmt.Sprintf("%d of %d voters are seen alive. ", len(v.alive), v.count())
	if r := m.state.Roster(); r.Formed() {
		text += fmt.Sprintf("Grants end at %s (the ceiling); no IDs are issued after that. ", instant(r.Ceiling).Format(time.RFC3339))
	}
	return text + v.remedy(m.cfg.DataDir != "", m.addrs.API)
}

// remedy says what to do if this member, which may keep its part on disk, takes part
// in no agreement.
func (v voters) remedy(durable bool, api string) string {
	switch {
	case v.count() == 0 || v.majority():
		return "That is enough, and yet this member learns of no agreement: check that the members reach each other at their Raft and API addresses, " +
			"both ways and with the same TLS settings, and read the log of the leader. A member that was taken out is let in again when the leader reaches it"
	case 2*(len(v.alive)+len(v.kept)) > v.count():
		return "Start these members again with their data directories, or restore the network to them: " + describe(v.kept) +
			". If so many of these directories are lost for good that no majority is left, see `snowgrid recover --help`"
	case !durable:
		return fmt.Sprintf("The voters that are gone kept nothing on disk (%s), so the majority is gone for good, unless they still run where this member cannot reach them. "+
			"Make sure that they do not, and run `snowgrid init --force --addr %s`: the survivors form the grid again, and grants begin after a wait. "+
			"With --floor they begin above the largest ID that you know of, too. Run it at one member only", describe(v.lost), api)
	default:
		return fmt.Sprintf("The voters that are gone kept nothing on disk (%s), so the majority is gone for good. "+
			"Stop the members that are left, and run `snowgrid recover` with their data directories; its --help says more", describe(v.lost))
	}
}

// voters are Raft's voters as this member knows them.
type voters struct {
	alive, kept, lost []voter // kept: not alive, but with a disk
}

type voter struct {
	server raft.ServerID
	addr   string // of its gossip, or of Raft if no more is known
}

func (v voters) count() int     { return len(v.alive) + len(v.kept) + len(v.lost) }
func (v voters) majority() bool { return 2*len(v.alive) > v.count() }

// voters returns the voters, sorted by what gossip sees of them.
func (m *Member) voters() (out voters) {
	future := m.raft.Node().Raft.GetConfiguration()
	if future.Error() != nil {
		return out
	}
	alive := map[raft.ServerID]bool{m.raft.Node().Server: true}
	for _, p := range m.gossip.Peers() {
		alive[raftlog.ServerID(p.Incarnation, p.Durable)] = true
	}
	r := m.state.Roster()
	for _, s := range future.Configuration().Servers {
		v := voter{s.ID, addrOf(r, s)}
		switch {
		case s.Suffrage != raft.Voter:
		case alive[s.ID]:
			out.alive = append(out.alive, v)
		case leader.ServerID(s.ID).IsDurable():
			out.kept = append(out.kept, v)
		default:
			out.lost = append(out.lost, v)
		}
	}
	return out
}

// addrOf returns where a server is, or was.
func addrOf(r *roster.Roster, s raft.Server) string {
	for _, member := range r.Members {
		if raftlog.ServerID(member.Incarnation, member.Durable) == s.ID {
			return member.Gossip
		}
	}
	if _, addr, err := transport.CutRaftAddress(s.Address); err == nil {
		return addr
	}
	return string(s.Address)
}

// describe names voters for people.
func describe(list []voter) string {
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprintf("%s, %s", v.server, v.addr))
	}
	return strings.Join(out, "; ")
}
