package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// An operator takes a member out of the grid:
//
//	           probes of it and of every voter            it answers, and confirms
//	request -----------------------------------> checked ---------------------------> replied: it leaves
//	                                                |  it is gone, and has a vote or a disk
//	                                                +------> its vote is given up ---> replied: it is removed
//	                                                          by the rules of voters
//
// A member that runs leaves in the same order as one that is stopped. A member that is
// gone is out of the roster within seconds in any case; its Raft server remains, and
// keeps its vote while it may come back with its disk. It is refused to take a member
// out whose vote or whose data is needed.

const (
	// removalsMax bounds the requests at the same time.
	removalsMax = 16
	// removalAwaited is how long a reply waits for the removal of a server.
	removalAwaited = 10 * time.Second
)

// Removed is the outcome of a member that was taken out.
type Removed struct {
	Member roster.MemberID
	// Leaving is the incarnation that was told to leave and confirmed it, "" for a member
	// that did not run.
	Leaving roster.Incarnation
	API     string // of Leaving
	Disks   int    // partitions whose definitions its disk has, besides other disks
}

// Dismissal tells a member that an operator has it leave the grid.
type Dismissal struct {
	To  roster.Incarnation
	API string
	By  string // the operator, as the request has it

	round uint64
}

// removal is a request of an operator until it is answered.
type removal struct {
	id    roster.MemberID
	by    string
	reply func(Removed, error)

	round    uint64
	waiting  int                         // probes without an outcome
	answered map[roster.Incarnation]bool // of those that were probed

	out    Removed
	server ServerID      // that is to be removed, "" before that is decided
	until  time.Duration // when the reply waits no longer for that
}

// RemoveMember takes a member out of the grid as an operator says, by whose address or name
// the member's dismissal is known.
func (l *Leader) RemoveMember(v View, id roster.MemberID, by string, reply func(Removed, error)) {
	if len(l.removals) >= removalsMax {
		reply(Removed{}, failure.Errorf(ErrUnavailable, "grid: %d members are being removed already; try again", removalsMax))
		return
	}
	l.inquiry.rounds++
	r := &removal{id: id, by: by, reply: reply, round: l.inquiry.rounds, answered: map[roster.Incarnation]bool{}, out: Removed{Member: id}}
	l.removals = append(l.removals, r)
	for _, p := range l.removalSurvey(v, id) {
		r.answered[p.Incarnation] = false
		r.waiting++
		l.probe(v, p.Incarnation, p.API, forRemoval, r.round)
	}
	if r.waiting == 0 {
		l.decideRemoval(v, r)
	}
}

// removalSurvey returns the processes that the removal of a member depends on: that
// member, and those of all voters.
func (l *Leader) removalSurvey(v View, id roster.MemberID) (out []Peer) {
	for _, m := range v.Roster.Members {
		server := ServerOf(m.Incarnation, m.Durable)
		votes := slices.Contains(v.Servers, Server{ID: server, Voter: true})
		if m.Incarnation != l.self && (votes || m.Incarnation.Member() == id) {
			out = append(out, Peer{Incarnation: m.Incarnation, API: m.API})
		}
	}
	return out
}

// removalProbed records the outcome of a probe.
func (l *Leader) removalProbed(v View, p Probe, err error) {
	i := slices.IndexFunc(l.removals, func(r *removal) bool { return r.round == p.round })
	if i < 0 {
		return
	}
	r := l.removals[i]
	r.answered[p.To] = err == nil
	if r.waiting--; r.waiting == 0 {
		l.decideRemoval(v, r)
	}
}

// decideRemoval refuses a request or begins to carry it out.
func (l *Leader) decideRemoval(v View, r *removal) {
	m, member := registered(v.Roster, r.id)
	server, served := v.serverOf(r.id)
	if err := l.checkRemoval(v, r); err != nil {
		l.removed(r, err)
		return
	}
	r.out.Disks, _ = v.Roster.OnDisk(r.id)
	switch {
	case member:
		r.out.Leaving, r.out.API = m.Incarnation, m.API
		l.member.Dismiss(Dismissal{To: m.Incarnation, API: m.API, By: r.by, round: r.round})
	case served:
		r.server, r.until = server.ID, v.Mono+removalAwaited
		l.voters.givenUp[server.ID] = true
	}
}

// Dismissed records the outcome of a dismissal.
func (l *Leader) Dismissed(v View, d Dismissal, err error) {
	i := slices.IndexFunc(l.removals, func(r *removal) bool { return r.round == d.round })
	if i < 0 {
		return
	}
	if err != nil {
		err = failure.Errorf(ErrUnavailable, "grid: member %s was told to leave and did not confirm it; check it with `snowgrid status`: %w", d.To, err)
	} else if d.To != l.self {
		l.requests.leaves[d.To] = true
	}
	l.removed(l.removals[i], err)
}

// removed answers a request.
func (l *Leader) removed(r *removal, err error) {
	l.removals = slices.DeleteFunc(l.removals, func(other *removal) bool { return other == r })
	if err != nil {
		r.out = Removed{}
	}
	r.reply(r.out, err)
}

// keepRemovals answers the requests about servers that are removed by now, or are not for
// too long, and forgets servers that are a member's again or none's.
func (l *Leader) keepRemovals(v View) {
	for _, r := range slices.Clone(l.removals) {
		switch {
		case r.server == "":
		case !v.serves(r.server):
			l.removed(r, nil)
		case v.Mono >= r.until:
			l.removed(r, failure.Errorf(ErrUnavailable, "grid: the vote of member %s is given up, and its removal is not agreed on yet; check with `snowgrid status`", r.id))
		}
	}
	for id := range l.voters.givenUp {
		if _, member := v.memberOf(id); member || !v.serves(id) {
			delete(l.voters.givenUp, id)
		}
	}
}

// checkRemoval returns why a member is not taken out.
func (l *Leader) checkRemoval(v View, r *removal) error {
	m, member := registered(v.Roster, r.id)
	server, served := v.serverOf(r.id)
	answers := func(i roster.Incarnation) bool { return i == l.self || r.answered[i] }
	switch {
	case !member && !served:
		return failure.Errorf(ErrNotNeeded, "grid: member %s is not in the grid; `snowgrid status` lists its members", r.id)
	case member && !answers(m.Incarnation):
		return failure.Errorf(ErrUnavailable, "grid: member %s does not answer and is still in the roster; it is removed within seconds, try again then if it still has a vote", r.id)
	case !member && l.expected(v, server.ID):
		return failure.Errorf(ErrNotNow, "grid: member %s is running and about to join; try again in a moment", r.id)
	case member && l.leaves(v, m.Incarnation):
		return failure.Errorf(ErrNotNeeded, "grid: member %s is leaving the grid already", r.id)
	}
	if err := l.checkVote(v, server, answers); err != nil {
		return err
	}
	if member {
		return l.checkLast(v, m, answers)
	}
	if named, alone := v.Roster.OnDisk(r.id); alone > 0 {
		return failure.Errorf(ErrNotNow, "grid: member %s was not removed: its disk is the last one with the definitions of %d of %d partitions; start it again, or give them up with `snowgrid forget %s --lose-definitions`",
			r.id, alone, named, r.id)
	}
	return nil
}

// checkVote refuses to take out a voter without which the voters that stay have no
// majority that answers. Of the only voter the lead and the vote go to another member
// before it leaves.
func (l *Leader) checkVote(v View, gone Server, answers func(roster.Incarnation) bool) error {
	if !gone.Voter {
		return nil
	}
	var rest electorate
	answering := 0
	stays := func(s Server) bool {
		m, member := v.memberOf(s.ID)
		return member && answers(m.Incarnation) && !l.leaves(v, m.Incarnation)
	}
	for _, s := range v.Servers {
		if s.Voter {
			rest.voters = append(rest.voters, s)
			if s.ID != gone.ID && stays(s) {
				answering++
			}
		}
	}
	if len(rest.voters) == 1 || rest.agreesWithout(gone, stays) {
		return nil
	}
	return failure.Errorf(ErrNotNow, "grid: the member was not removed: of the %d other voters %d answer and stay, which is less than a majority; start the missing ones again, or wait until the members that leave have left",
		len(rest.voters)-1, answering)
}

// checkLast refuses to take out a running member that no other one can follow, or whose
// disk alone has definitions while no other member has a disk.
func (l *Leader) checkLast(v View, gone roster.Member, answers func(roster.Incarnation) bool) error {
	others, disks := 0, 0
	for _, m := range v.Roster.Members {
		if m == gone || l.leaves(v, m.Incarnation) || !answers(m.Incarnation) && l.detector.failing(m.Incarnation) {
			continue
		}
		others++
		if m.Durable {
			disks++
		}
	}
	_, alone := v.Roster.OnDisk(gone.Incarnation.Member())
	switch {
	case others == 0:
		return failure.Errorf(ErrNotNow, "grid: member %s was not removed: no other member answers that could take its place; start another one, or stop the grid by stopping its processes", gone.Incarnation.Member())
	case alone > 0 && disks == 0:
		return failure.Errorf(ErrNotNow, "grid: member %s was not removed: the definitions of %d partitions are on its disk alone, and no other member has a disk; start another one with a data directory", gone.Incarnation.Member(), alone)
	}
	return nil
}

// serverOf returns the Raft server of a member, whether it runs or not.
func (v View) serverOf(id roster.MemberID) (Server, bool) {
	if m, found := registered(v.Roster, id); found {
		want := ServerOf(m.Incarnation, m.Durable)
		for _, s := range v.Servers {
			if s.ID == want {
				return s, true
			}
		}
		return Server{}, false
	}
	for _, s := range v.Servers {
		if roster.Incarnation(s.ID).Member() == id {
			return s, true
		}
	}
	return Server{}, false
}

// String describes the outcome.
func (r Removed) String() string {
	if r.Leaving != "" {
		return fmt.Sprintf("member %s leaves the grid", r.Leaving)
	}
	return fmt.Sprintf("member %s is removed", r.Member)
}
