package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Legend explains the terms in a trace.
const Legend = `A, B, C are members, A2 is A's next process. v is the roster's version, G the ceiling of
a roster, ticks count from 0. T1, T2, T3 are attachments. (e, k) is a table: term and number.`

// story describes the path to a state: the steps of a shortest one.
func (x *search) story(last uint32) []string {
	var way []uint32
	for at := last; at != 0; at = x.from[at] {
		way = append(way, at)
	}
	slices.Reverse(way)
	w, err := x.lab.start()
	if err != nil {
		panic(err)
	}
	lines := make([]string, 0, len(way)+1)
	for i, at := range way {
		s, next := x.stepTo(w, x.seen.sums[at])
		lines = append(lines, fmt.Sprintf("%2d. %s", i+1, x.lab.tell(&w, &next, s)))
		w = next
	}
	return append(lines, "=> "+w.duplicate(x.lab.scope.Holders))
}

// stepTo finds the step from a world to the one with a sum.
func (x *search) stepTo(w world, to sum) (way step, next world) {
	found := false
	x.lab.steps(&w, func(s step) {
		if found {
			return
		}
		if n, done := x.lab.do(w, s); done && sumOf(n.append(nil)) == to {
			way, next, found = s, n, true
		}
	})
	if !found {
		panic("explore: a way cannot be walked again")
	}
	return way, next
}

// tell describes a step in one line.
func (l *lab) tell(w, next *world, s step) string {
	who := nameOf(l.processes.get(next.processes[s.member]).self)
	switch s.kind {
	case stepEntry:
		return "the log: " + l.tellRoster(next, s)
	case stepAnnounce:
		return fmt.Sprintf("%s hears of a raise to G %d that is not committed", who, l.newest(*w).Ceiling+1-base)
	case stepRestart:
		return fmt.Sprintf("%s is killed and starts again without memory, as %s",
			nameOf(l.processes.get(w.processes[s.member]).self), who)
	case stepReceive:
		return fmt.Sprintf("T%d receives its answer: node %d", s.holder+1, s.node)
	case stepGiveBack:
		return fmt.Sprintf("T%d is given back by its holder, %s", s.holder+1, usedText(used(s.tick)))
	case stepStop:
		return fmt.Sprintf("%s stops in order: grants ended at %d", who, l.newest(*next).Stopped-base)
	}
	return fmt.Sprintf("%s %s%s", who, l.tellInput(s.input), l.tellAnswers(w, s))
}

func (l *lab) tellRoster(next *world, s step) string {
	r := l.newest(*next)
	if s.change == nil {
		return fmt.Sprintf("G %d", r.Ceiling-base)
	}
	p := r.Partitions[0]
	what := tellChange(*s.change)
	text := fmt.Sprintf("v%d, %s: owner %s, in sync %s", r.Version, what, nameOf(p.Owner), processes(p.InSync))
	if p.Joining != "" {
		text += ", joining " + nameOf(p.Joining)
	}
	return text + fmt.Sprintf(", term %d, floor %d, G %d", p.Term, p.Floor-base, r.Ceiling-base)
}

func tellChange(c roster.Change) string {
	var parts []string
	for _, m := range c.Join {
		parts = append(parts, nameOf(m.Incarnation)+" registers")
	}
	for _, m := range c.Take {
		parts = append(parts, nameOf(m.Member)+" takes over")
	}
	for _, m := range c.Lose {
		parts = append(parts, "lost, to "+nameOf(m.Owner))
	}
	for _, m := range c.Drop {
		parts = append(parts, nameOf(m.Member)+" dropped")
	}
	for _, m := range c.Add {
		parts = append(parts, nameOf(m.Member)+" joins")
	}
	for _, m := range c.Admit {
		parts = append(parts, nameOf(m.Member)+" admitted")
	}
	for _, i := range c.Remove {
		parts = append(parts, nameOf(i)+" removed")
	}
	return strings.Join(parts, ", ")
}

func (l *lab) tellInput(in input) string {
	t := fmt.Sprintf("T%d", in.holder+1)
	switch in.kind {
	case inLearn:
		r := l.rosters.get(in.roster)
		return fmt.Sprintf("learns v%d with G %d", r.Version, r.Ceiling-base)
	case inLetter:
		return "gets " + l.tellLetter(l.letters.get(in.letter))
	case inReply:
		m := l.replies.get(in.reply)
		if m.holds.Gap {
			return fmt.Sprintf("hears that %s has a gap", nameOf(m.from))
		}
		return fmt.Sprintf("hears that %s holds %v, asked at v%d", nameOf(m.from), m.holds.Held, m.version)
	case inAttach:
		return fmt.Sprintf("is asked to attach %s to node %d", t, in.node)
	case inRenew:
		return fmt.Sprintf("is asked to renew %s on node %d, shown from v%d", t, in.node, in.version)
	case inRenewSet:
		return fmt.Sprintf("is asked to extend all of %s's, node %d from %d", t, in.node, in.tick-base)
	case inDetach:
		return fmt.Sprintf("detaches %s from node %d, %s", t, in.node, usedText(in.tick))
	case inSilence:
		return "hears no holder for a while"
	case inPause:
		return "does not run for a while"
	case inCreate:
		return fmt.Sprintf("is asked to create the name, life %d", l.refs.get(in.life).Life[0])
	case inDestroy:
		return fmt.Sprintf("destroys life %d", l.refs.get(in.life).Life[0])
	case inFold:
		return "forgets ended names"
	}
	return "?"
}

func (l *lab) tellLetter(m letter) string {
	u := m.update
	switch {
	case u.Whole != nil:
		return fmt.Sprintf("table %v from %s", u.Position, nameOf(m.from))
	case len(u.Changes) > 0:
		return fmt.Sprintf("the changes from %d to %v from %s", u.Since, u.Position, nameOf(m.from))
	}
	return fmt.Sprintf("a question at v%d from %s", u.Version, nameOf(m.from))
}

func (l *lab) tellAnswers(w *world, s step) string {
	var text strings.Builder
	for _, a := range l.run(w.processes[s.member], s.input).answers {
		if a.holder == noHolder {
			fmt.Fprintf(&text, "; answers: life %d", l.refs.get(a.life).Life[0])
			continue
		}
		fmt.Fprintf(&text, "; answers T%d: node %d from %d until %d", a.holder+1, a.node, a.from-base, a.until-base)
	}
	return text.String()
}

func usedText(t clustertime.Tick) string {
	if t == 0 {
		return "nothing used"
	}
	return fmt.Sprintf("last used %d", t-base)
}

// nameOf returns an incarnation's short name: A, and A2 for A's second process.
func nameOf(i roster.Incarnation) string {
	letter := string(rune('A' + memberOf(i)))
	for nth := 1; nth < 8; nth++ {
		if i == incarnation(memberOf(i), nth) {
			return fmt.Sprintf("%s%d", letter, nth+1)
		}
	}
	return letter
}

func processes(set []roster.Incarnation) string {
	var names []string
	for _, i := range set {
		names = append(names, nameOf(i))
	}
	return strings.Join(names, " ")
}
