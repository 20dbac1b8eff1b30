package grid

import (
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
)

// Members that do not reach each other, while the leader reaches both: see leader.Reach.

// apart returns the pairs of members without a connection, ascending: this member's own pairs and,
// while it leads, the pairs that any member has reported.
func (o *leadership) apart() (pairs []plan.Pair) {
	for _, m := range o.host.Unreached() {
		pairs = append(pairs, plan.PairOf(o.self, m))
	}
	if l := o.current.Load(); l != nil {
		l.doIfDue(func(machine *leader.Leader, v leader.View) bool {
			pairs = append(pairs, machine.Apart(v)...)
			return false
		})
	}
	return pairs
}

// notTogether returns the reason why an orderly stop of a member may lose something although every
// partition has its copies, or nil: two members cannot connect to each other.
func (h *health) notTogether() error {
	var out []string
	for _, p := range h.apart() {
		if r := h.state.Roster(); isMember(r, p.A) && isMember(r, p.B) {
			out = append(out, h.who(p.A)+" and "+h.who(p.B))
		}
	}
	return unless(len(out) == 0, "members do not reach each other: %s; restore the network between them",
		strings.Join(out, "; "))
}

func isMember(r *roster.Roster, i roster.Incarnation) bool {
	_, member := r.Member(i)
	return member
}

// who returns a member's name for people with its incarnation.
func (h *health) who(i roster.Incarnation) string {
	return MemberInfo{Incarnation: string(i), Name: h.nameOf(i)}.who()
}

// checkApart looks for members that report others which do not answer them. A member that gossip does not see
// is down, and not apart.
func checkApart(s Status) (Severity, string) {
	who := map[roster.Incarnation]string{}
	for _, m := range s.Members {
		if m.Alive {
			who[roster.Incarnation(m.Incarnation)] = m.who()
		}
	}
	var apart []string
	seen := map[plan.Pair]bool{}
	for _, m := range s.Members {
		if m.Report == nil {
			continue
		}
		for _, other := range ids[roster.Incarnation](m.Report.Unreached) {
			if pair := plan.PairOf(roster.Incarnation(m.Incarnation), other); who[other] != "" && !seen[pair] {
				seen[pair] = true
				apart = append(apart, who[pair.A]+" and "+who[pair.B])
			}
		}
	}
	slices.Sort(apart)
	return about(apart, Warning, "members do not reach each other, and the leader reaches both: %s; the leader places "+
		"partitions around the gap: restore the network between these members", subjects(apart))
}
