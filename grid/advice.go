package grid

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/partition"
)

const (
	adviseEvery = time.Second
	// adviseAfter is how long there has to be neither a leader nor a majority
	// before anybody is told: an ordinary election is over long before.
	adviseAfter = 5 * time.Second
)

// advise keeps the advice of the status, until ctx ends, and logs its beginning
// and its end.
func (m *Member) advise(ctx context.Context) {
	ticker := time.NewTicker(adviseEvery)
	defer ticker.Stop()
	var since time.Duration // of the trouble, by the member's clock; 0 = none
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		text := m.trouble()
		now := m.clock.Mono()
		switch {
		case text == "":
			since = 0
			if m.worry.Swap(nil) != nil {
				m.log.Info("the grid agrees again; nothing is to do any more")
			}
		case since == 0:
			since = now
		case now-since >= adviseAfter:
			if m.worry.Swap(&text) == nil {
				m.log.Error("the grid agrees on nothing any more", "to_do", text)
			}
		}
	}
}

// trouble says in words what keeps the grid from agreeing, and what to do; "" if
// there is a leader, or members enough to elect one.
func (m *Member) trouble() string {
	if !m.takesPart() || m.node().leader() != "" || m.node().leads() {
		return ""
	}
	v := m.voters()
	if v.count() == 0 || v.majority() {
		return ""
	}
	text := fmt.Sprintf("there is no leader, and only %d of the voters are alive, of %d: too few to agree on anything. ", len(v.alive), v.count())
	if r := m.roster.Load(); r.Formed() {
		text += fmt.Sprintf("Grants go on until %s (the ceiling), and then nobody gets IDs. ", instant(r.Ceiling).Format(time.RFC3339))
	}
	switch {
	case 2*(len(v.alive)+len(v.kept)) > v.count():
		text += "Start these members again with their data directories: " + describe(v.kept)
	case m.cfg.DataDir == "":
		text += fmt.Sprintf("The voters that are gone kept nothing on disk (%s), so the majority is gone for good, if they do not still run where this member cannot reach them. "+
			"Make sure that they do not, and run `snowgrid init --force --addr %s`: the survivors form the grid anew, and grants begin after a wait. "+
			"With --floor they begin above the largest ID that you know of, too. Run it at one member only", describe(v.lost), m.addrs.API)
	default:
		text += fmt.Sprintf("The voters that are gone kept nothing on disk (%s), so the majority is gone for good. "+
			"Stop the members that are left, and start the grid anew with empty data directories and --floor", describe(v.lost))
	}
	return text
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
	future := m.node().raft.GetConfiguration()
	if future.Error() != nil {
		return out
	}
	alive := map[raft.ServerID]bool{m.node().server: true}
	for _, p := range m.gossip.peers() {
		alive[serverID(p.Incarnation, p.Durable)] = true
	}
	r := m.roster.Load()
	for _, s := range future.Configuration().Servers {
		v := voter{s.ID, addrOf(r, s)}
		switch {
		case s.Suffrage != raft.Voter:
		case alive[s.ID]:
			out.alive = append(out.alive, v)
		case isDurable(s.ID):
			out.kept = append(out.kept, v)
		default:
			out.lost = append(out.lost, v)
		}
	}
	return out
}

// addrOf returns where a server is, or was.
func addrOf(r *partition.Roster, s raft.Server) string {
	for _, member := range r.Members {
		if serverID(member.Incarnation, member.Durable) == s.ID {
			return member.Gossip
		}
	}
	if _, addr, err := cutRaftAddress(s.Address); err == nil {
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
