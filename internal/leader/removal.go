package leader

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// An operator removes a member from the grid:
//
//	           probes of it and of every voter            it answers, and confirms
//	request -----------------------------------> checked ---------------------------> replied: it leaves
//	                                                |  it is gone, and has a vote or a disk
//	                                                +------> its vote is given up ---> replied: it is removed
//	                                                          by the rules of voters
//
// A running member leaves in the same order as a stopped one. A member that is gone is out of the
// roster within seconds in any case; its Raft server remains, and keeps its vote while it may come
// back with its disk. The request is refused if the member's vote or data is needed.

const (
	// removalsMax bounds the requests at the same time.
	removalsMax = 16
	// removalAwaited bounds the wait of a reply for the removal of a server.
	removalAwaited = 10 * time.Second
)

// Removed is the result of a removal.
type Removed struct {
	Member roster.MemberID
	// Leaving is the incarnation that has confirmed that it leaves, empty if the member did not
	// run.
	Leaving roster.Incarnation
	API     string // of Leaving
	Disks   int    // partitions with definitions on its disk and on others
}

// Dismissal requests that a member leaves the grid, for an operator.
type Dismissal struct {
	To  roster.Incarnation
	API string
	By  string // the operator, as in the request

	round uint64
}

// removal is a request without an answer.
type removal struct {
	id    roster.MemberID
	by    string
	reply func(Removed, error)

	*poll // of the processes that it depends on

	out    Removed
	server ServerID      // the server to remove, empty before that is decided
	until  time.Duration // the end of the wait for its removal
}

// removals takes members out of the grid at an operator's request.
type removals struct {
	self      roster.Incarnation
	admission *admission
	detector  *detector
	voters    *voters
	settings  *settingsChanges
	out       Member

	open   []*removal
	rounds uint64 // of probes
}

// request starts the probes for a removal. by is the operator's address or name.
func (x *removals) request(v View, id roster.MemberID, by string, reply func(Removed, error)) {
	if len(x.open) >= removalsMax {
		reply(Removed{}, failure.Errorf(ErrUnavailable, "grid: %d members are being removed already; try again", removalsMax))
		return
	}
	x.rounds++
	r := &removal{id: id, by: by, reply: reply, poll: newPoll(v, x.out, forRemoval, x.rounds, x.survey(v, id)),
		out: Removed{Member: id}}
	x.open = append(x.open, r)
	if r.waiting == 0 {
		x.decide(v, r)
	}
}

// survey returns the processes that the removal of a member depends on: that
// member, and all voters.
func (x *removals) survey(v View, id roster.MemberID) (out []Peer) {
	for _, m := range v.Roster.Members {
		server := ServerOf(m.Incarnation, m.Durable)
		votes := slices.Contains(v.Servers, Server{ID: server, Voter: true})
		if m.Incarnation != x.self && (votes || m.Incarnation.Member() == id) {
			out = append(out, Peer{Incarnation: m.Incarnation, API: m.API})
		}
	}
	return out
}

func (x *removals) probed(v View, p Probe, err error) {
	i := slices.IndexFunc(x.open, func(r *removal) bool { return r.round == p.round })
	if i >= 0 && x.open[i].note(p, err) {
		x.decide(v, x.open[i])
	}
}

// decide refuses a request or starts to carry it out.
func (x *removals) decide(v View, r *removal) {
	m, member := registered(v.Roster, r.id)
	server, served := v.serverOf(r.id)
	if err := x.check(v, r); err != nil {
		x.answer(r, err)
		return
	}
	r.out.Disks, _ = v.Roster.OnDisk(r.id)
	switch {
	case member:
		r.out.Leaving, r.out.API = m.Incarnation, m.API
		x.out.Dismiss(Dismissal{To: m.Incarnation, API: m.API, By: r.by, round: r.round})
	case served:
		r.server, r.until = server.ID, v.Mono+removalAwaited
		x.voters.givenUp[server.ID] = true
	}
}

func (x *removals) dismissed(v View, d Dismissal, err error) {
	i := slices.IndexFunc(x.open, func(r *removal) bool { return r.round == d.round })
	if i < 0 {
		return
	}
	if err != nil {
		x.answer(x.open[i], failure.Errorf(ErrUnavailable,
			"grid: member %s was told to leave and did not confirm it; check it with `snowgrid status`: %w", d.To, err))
		return
	}
	if d.To != x.self {
		x.admission.leaves[d.To] = true
	}
	x.complete(v, x.open[i])
}

// complete lowers the number of members that are meant to run, and answers a request that was
// carried out.
func (x *removals) complete(v View, r *removal) {
	remaining := 0
	for _, m := range v.Roster.Members {
		if m.Incarnation.Member() != r.id && !x.admission.isLeaving(v, m.Incarnation) {
			remaining++
		}
	}
	if expectWithout(v.Roster.Settings.Expect, remaining) == 0 {
		x.answer(r, nil)
		return
	}
	x.open = slices.DeleteFunc(x.open, func(other *removal) bool { return other == r })
	x.settings.request(v, SettingsRequest{removed: true, remaining: remaining}, func(err error) {
		if err != nil {
			err = failure.Errorf(err, "grid: %s; the number of expected members may be as before, see `snowgrid settings`: %w",
				r.out, err)
			r.out = Removed{}
		}
		r.reply(r.out, err)
	})
}

func (x *removals) answer(r *removal, err error) {
	x.open = slices.DeleteFunc(x.open, func(other *removal) bool { return other == r })
	if err != nil {
		r.out = Removed{}
	}
	r.reply(r.out, err)
}

// step answers the requests whose servers are removed, and the requests that have waited too long.
func (x *removals) step(v View) {
	for _, r := range slices.Clone(x.open) {
		switch {
		case r.server == "":
		case !v.serves(r.server):
			x.complete(v, r)
		case v.Mono >= r.until:
			x.answer(r, failure.Errorf(ErrUnavailable, "grid: the vote of member %s is given up, and its removal is not "+
				"agreed on yet; check with `snowgrid status`", r.id))
		}
	}
	maps.DeleteFunc(x.voters.givenUp, func(id ServerID, _ bool) bool { // removed, or with a member again
		_, member := v.memberOf(id)
		return member || !v.serves(id)
	})
}

// check returns an error if a member must not be taken out.
func (x *removals) check(v View, r *removal) error {
	m, member := registered(v.Roster, r.id)
	server, served := v.serverOf(r.id)
	answers := func(i roster.Incarnation) bool { return i == x.self || r.answered[i] }
	switch {
	case !member && !served:
		return failure.Errorf(ErrNotNeeded, "grid: member %s is not in the grid; `snowgrid status` lists its members", r.id)
	case member && !answers(m.Incarnation):
		return failure.Errorf(ErrUnavailable, "grid: member %s does not answer and is still in the roster; it is removed "+
			"within seconds, try again then if it still has a vote", r.id)
	case !member && x.admission.expects(v, server.ID):
		return failure.Errorf(ErrNotNow, "grid: member %s is running and about to join; try again in a moment", r.id)
	case member && x.admission.isLeaving(v, m.Incarnation):
		return failure.Errorf(ErrNotNeeded, "grid: member %s is leaving the grid already", r.id)
	}
	if err := x.checkVote(v, server, answers); err != nil {
		return err
	}
	if member {
		return x.checkLast(v, m, answers)
	}
	if named, alone := v.Roster.OnDisk(r.id); alone > 0 {
		return failure.Errorf(ErrNotNow, "grid: member %s was not removed: its disk is the last one with the definitions "+
			"of %d of %d partitions; start it again, or give them up with `snowgrid forget %s --lose-definitions`",
			r.id, alone, named, r.id)
	}
	return nil
}

// checkVote refuses to take out a voter without which the staying voters have no majority that
// answers. The only voter passes lead and vote to another member before it leaves.
func (x *removals) checkVote(v View, gone Server, answers func(roster.Incarnation) bool) error {
	if !gone.Voter {
		return nil
	}
	var rest electorate
	answering := 0
	stays := func(s Server) bool {
		m, member := v.memberOf(s.ID)
		return member && answers(m.Incarnation) && !x.admission.isLeaving(v, m.Incarnation)
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
	return failure.Errorf(ErrNotNow, "grid: the member was not removed: of the %d other voters %d answer and stay, "+
		"which is less than a majority; start the missing ones again, or wait until the members that leave have left",
		len(rest.voters)-1, answering)
}

// checkLast refuses to take out a running member if no other can take its place, or if its disk
// alone has definitions and no other member has a disk.
func (x *removals) checkLast(v View, gone roster.Member, answers func(roster.Incarnation) bool) error {
	others, disks := 0, 0
	for _, m := range v.Roster.Members {
		if m == gone || x.admission.isLeaving(v, m.Incarnation) || !answers(m.Incarnation) &&
			x.detector.failing(m.Incarnation) {
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
		return failure.Errorf(ErrNotNow, "grid: member %s was not removed: no other member answers that could take its "+
			"place; start another one, or stop the grid by stopping its processes", gone.Incarnation.Member())
	case alone > 0 && disks == 0:
		return failure.Errorf(ErrNotNow, "grid: member %s was not removed: its disk is the only one, with the definitions "+
			"of %s, and no other member has a disk; start another one with a data directory", gone.Incarnation.Member(),
			spelling.Count(alone, "partition"))
	}
	return nil
}

// String describes the outcome.
func (r Removed) String() string {
	if r.Leaving != "" {
		return fmt.Sprintf("member %s leaves the grid", r.Leaving)
	}
	return fmt.Sprintf("member %s is removed", r.Member)
}
