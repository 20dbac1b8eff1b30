package leader

import "github.com/snowgrid/snowgrid/internal/roster"

// addsPerStep bounds the additions between two steps, also if they fail: each takes an agreement,
// and the ceiling has to rise meanwhile.
const addsPerStep = 16

// additions adds Raft servers one after the other: up to ServersMost for joining
// members and learners.
type additions struct {
	admission *admission
	detector  *detector
	voters    *voters
	out       Member

	adding bool              // a server is being added
	tried  map[ServerID]bool // servers added since the last step, or not
}

// step adds the servers that are due.
func (x *additions) step(v View) {
	clear(x.tried)
	x.next(v)
}

func (x *additions) next(v View) {
	if x.adding || len(x.tried) == addsPerStep {
		return
	}
	full := x.voters.full(v)
	add := func(m roster.Member, needed bool) bool {
		id := ServerOf(m.Incarnation, m.Durable)
		if !needed || v.serves(id) || x.tried[id] {
			return false
		}
		x.adding, x.tried[id] = true, true
		x.out.Reconfigure(Reconfiguration{Do: AddServer, Server: id, Member: m})
		return true
	}
	for _, j := range x.admission.joining(v) {
		if add(j.member, !full) {
			return
		}
	}
	replaces := x.voters.replacing(v)
	for _, m := range v.Roster.Members {
		c := x.detector.contacts[m.Incarnation]
		if c != nil && c.said && !c.failing && !x.admission.isLeaving(v, m.Incarnation) && add(m, !full || replaces(m)) {
			return
		}
	}
}

// admitted returns the joining members that will receive the roster in which they are listed:
// their servers are configured, or they are learners.
func (x *additions) admitted(v View) []roster.Member {
	var out []roster.Member
	full := x.voters.full(v)
	for _, j := range x.admission.joining(v) {
		if v.serves(j.server()) || full {
			out = append(out, j.member)
		}
	}
	return out
}
