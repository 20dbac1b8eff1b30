package raftlog

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

// followed maintains the roster of one grid from the log and the leader's pushes. It writes the
// state's roster.
type followed struct {
	grid  roster.GridID
	self  roster.Incarnation
	state *state.State

	mu       sync.Mutex // guards the fields below, and orders the state's rosters
	voided   claimsSeen // claims that this process has given up
	claims   claimsSeen // from the rosters that were served
	follower *follow.Follower
	ended    bool // nothing that is pushed counts any longer
}

// claimsSeen are claims with the newest version of a roster that was served under each.
type claimsSeen map[roster.Claim]roster.Version

func newFollowed(grid roster.GridID, self roster.Incarnation, s *state.State, voided claimsSeen) *followed {
	return &followed{grid: grid, self: self, state: s, voided: maps.Clone(voided), claims: claimsSeen{},
		follower: follow.New(grid)}
}

// serve makes r the member's roster. Under a claim that this process has given up it serves no roster:
// it has dropped the tables that it had acknowledged under that claim (B2). That ends with a later roster
// that lacks the member: the grid has gone on under the claim and removed it, so no table is expected of it.
func (f *followed) serve(r *roster.Roster) {
	if last, voided := f.voided[r.Claim]; voided {
		if _, member := r.Member(f.self); member || r.Version <= last {
			return
		}
		delete(f.voided, r.Claim)
	}
	f.claims[r.Claim] = max(f.claims[r.Claim], r.Version)
	f.state.Apply(r)
}

func (f *followed) gaveUp(c roster.Claim) bool {
	_, voided := f.voided[c]
	return voided
}

// served returns the claims of the rosters served now or earlier, with the given-up ones.
func (f *followed) served() claimsSeen {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := maps.Clone(f.claims)
	maps.Copy(out, f.voided)
	return out
}

// commit applies a command from the log; present means that the present leader wrote it.
func (f *followed) commit(at follow.Position, c roster.Command, present bool) (before, after *roster.Roster,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before = f.follower.Log().Roster
	news, err := f.follower.Commit(at, c)
	if err != nil {
		return before, before, err
	}
	after = f.follower.Log().Roster
	if news {
		f.serve(after)
	}
	if c.Raise != nil && present && !f.gaveUp(after.Claim) {
		f.state.NoteRaise(after.Time)
	}
	return before, after, nil
}

func (f *followed) install(i follow.Image) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.follower.Install(i) {
		f.serve(i.Roster)
	}
}

func (f *followed) log() *roster.Roster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.follower.Log().Roster
}

func (f *followed) end() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

// push applies a push from the leader; now is the leader's cluster time, 0 if it does not count.
func (f *followed) push(entries []follow.Entry, image follow.Image, now clustertime.Tick) (at follow.Position,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return 0, refusal.ErrClosed
	}
	before := f.follower.Served()
	if image.Roster != nil {
		_, err = f.follower.Adopt(f.grid, image)
	}
	for _, e := range entries {
		if err == nil {
			_, err = f.follower.Push(f.grid, e)
		}
	}
	served := f.follower.Served()
	if served.At > before.At {
		f.serve(served.Roster)
	}
	if now > 0 && (err == nil || errors.Is(err, follow.ErrGap)) && !f.gaveUp(served.Roster.Claim) {
		f.state.Advance(now, served.Roster.Time)
	}
	return served.At, err
}

// GivenUp returns the log's roster without this member if it is of a claim that this process has given up, nil if it
// is not. The process serves no roster then, and leads without being registered.
func (n *Node) GivenUp() *roster.Roster {
	if n == nil || n.followed == nil {
		return nil
	}
	f := n.followed
	f.mu.Lock()
	defer f.mu.Unlock()
	r := *f.follower.Log().Roster
	if r.Claim == "" || !f.gaveUp(r.Claim) {
		return nil
	}
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m roster.Member) bool { return m.Incarnation == f.self })
	return &r
}

// Push applies a leader's push, and returns the position of the roster served then. The push counts if
// this member's Raft server also follows that leader, since a push is trusted as far as the log is;
// or, in a learner, if it has the key. unfollowed means that it does not count, and that this member
// may follow that leader.
func (n *Node) Push(p Push) (at follow.Position, unfollowed bool, err error) {
	if n == nil || n.followed == nil {
		return 0, false, nil
	}
	_, id := n.Raft.LeaderWithID()
	switch {
	case p.Leader == string(n.Server) || n.diverged.failure() != nil || id != "" && string(id) != p.Leader:
		return n.followed.servedAt(), false, nil
	case id == "":
		if takes, worth := n.learned.takes(p); !takes {
			return n.followed.servedAt(), worth, nil
		}
	}
	at, err = n.adopt(p)
	return at, false, err
}

// Follow has a learner follow a leader that has answered its call with p, which has the call's key.
// It reports whether it does.
func (n *Node) Follow(p Push) (bool, error) {
	if n == nil || n.followed == nil || p.Key == "" || p.Leader == string(n.Server) || n.diverged.failure() != nil ||
		!n.learned.begin(p) {
		return false, nil
	}
	_, err := n.adopt(p)
	return true, err
}

func (n *Node) adopt(p Push) (at follow.Position, err error) {
	at, err = n.followed.push(p.Entries, p.Image, p.Time)
	if errors.Is(err, follow.ErrGap) { // the leader sends it again, from the position that is returned
		err = nil
	}
	return at, err
}

// Served returns the served roster's position.
func (n *Node) Served() follow.Position {
	if n == nil || n.followed == nil {
		return 0
	}
	return n.followed.servedAt()
}

func (f *followed) servedAt() follow.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.follower.Served().At
}

// Image returns the roster that this member serves, with its position.
func (n *Node) Image() follow.Image {
	n.followed.mu.Lock()
	defer n.followed.mu.Unlock()
	return n.followed.follower.Served()
}

// Since returns the committed commands after a position, or the whole roster if they are compacted,
// and the resulting position (F1).
func (n *Node) Since(at follow.Position) (entries []follow.Entry, image follow.Image, newest follow.Position) {
	if n == nil || n.followed == nil {
		return nil, image, 0
	}
	n.followed.mu.Lock()
	defer n.followed.mu.Unlock()
	served := n.followed.follower.Served()
	entries, known := n.followed.follower.Since(at)
	if !known {
		image = served
	}
	return entries, image, served.At
}
