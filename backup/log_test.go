package backup

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// history is the log of a roster with one partition, with commands that a leader can
// propose (R2 to R5). The leader knows the positions of replicas from owners alone.
type history struct {
	rosters []*roster.Roster // by version
	starts  int              // processes started so far
	held    []roster.Holding // reports of owners, of any version
}

const membersKept = 4

func newHistory(t *rapid.T) *history {
	h := &history{rosters: []*roster.Roster{{}}}
	form := roster.Form{Grid: roster.GridID{1}, Ceiling: 1000}
	form.Settings = roster.Settings{Name: "g", Partitions: 1, Window: roster.MinWindow}
	h.apply(t, roster.Command{Form: &form})
	var join []roster.Member
	for n := range membersKept {
		join = append(join, h.process(n))
	}
	h.change(t, roster.Change{Join: join})
	return h
}

// process returns the record of a new process of a member.
func (h *history) process(member int) roster.Member {
	h.starts++
	return roster.Member{Incarnation: roster.Incarnation(fmt.Sprintf("%016x-%016x", member+0xa, h.starts))}
}

func (h *history) newest() *roster.Roster { return h.rosters[len(h.rosters)-1] }

func (h *history) entry() roster.Partition { return h.newest().Partitions[0] }

// entryAt returns the partition at a version, the zero value for version 0.
func (h *history) entryAt(v roster.Version) roster.Partition {
	if v == 0 {
		return roster.Partition{}
	}
	return h.rosters[v].Partitions[0]
}

func (h *history) members() []roster.Incarnation {
	var out []roster.Incarnation
	for _, m := range h.newest().Members {
		out = append(out, m.Incarnation)
	}
	return out
}

func (h *history) apply(t *rapid.T, c roster.Command) {
	next, err := h.newest().Apply(c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	h.rosters = append(h.rosters, next)
}

func (h *history) change(t *rapid.T, c roster.Change) {
	h.apply(t, roster.Command{From: h.newest().Version, Change: &c})
}

// raise raises the ceiling, at the same version.
func (h *history) raise(t *rapid.T) {
	next, err := h.newest().Apply(roster.Command{From: h.newest().Version, Raise: &roster.Raise{Time: h.newest().Ceiling}})
	if err != nil {
		t.Fatal(err)
	}
	h.rosters[len(h.rosters)-1] = next
}

// some draws a member that is not excluded, "" if there is none.
func some(t *rapid.T, from []roster.Incarnation, except ...roster.Incarnation) roster.Incarnation {
	left := slices.DeleteFunc(slices.Clone(from), func(i roster.Incarnation) bool { return slices.Contains(except, i) })
	if len(left) == 0 {
		return ""
	}
	return rapid.SampledFrom(left).Draw(t, "member")
}

// take is R2. Without a member that can become the owner it does nothing.
func (h *history) take(t *rapid.T) {
	if to := some(t, h.entry().InSync, h.entry().Owner); to != "" {
		h.change(t, roster.Change{Take: []roster.Replica{{Member: to}}})
	}
}

// lose is R3: any member starts with an empty table, alone or with others.
func (h *history) lose(t *rapid.T) {
	h.change(t, roster.Change{Lose: []roster.Loss{h.loss(t, h.members())}})
}

func (*history) loss(t *rapid.T, members []roster.Incarnation) roster.Loss {
	l := roster.Loss{Owner: some(t, members)}
	for _, i := range members {
		if i != l.Owner && rapid.Bool().Draw(t, "with") {
			l.With = append(l.With, i)
		}
	}
	return l
}

// add starts R5, also in place of a replica that is already joining.
func (h *history) add(t *rapid.T) {
	e := h.entry()
	if i := some(t, h.members(), append(slices.Clone(e.InSync), e.Joining)...); i != "" && e.Owner != "" {
		h.change(t, roster.Change{Add: []roster.Replica{{Member: i}}})
	}
}

// admit completes R5 with an earlier report of an owner. The log refuses a report of an
// earlier version.
func (h *history) admit(t *rapid.T) bool {
	if len(h.held) == 0 {
		return false
	}
	said := h.held[len(h.held)-1-rapid.IntRange(0, min(3, len(h.held)-1)).Draw(t, "earlier")]
	said.Partition = 0
	next, err := h.newest().Apply(roster.Command{From: said.Version,
		Change: &roster.Change{Admit: []roster.Replica{said.Replica}}})
	if errors.Is(err, roster.ErrStale) {
		return false
	}
	if err != nil {
		t.Fatalf("%+v is not admitted: %v", said, err)
	}
	h.rosters = append(h.rosters, next)
	return true
}

// drop is R4, or ends a join.
func (h *history) drop(t *rapid.T) {
	e := h.entry()
	if i := some(t, append(slices.Clone(e.InSync), e.Joining), e.Owner, ""); i != "" {
		h.change(t, roster.Change{Drop: []roster.Replica{{Member: i}}})
	}
}

// restart replaces a member's process by a new one with an empty table (R8).
func (h *history) restart(t *rapid.T) {
	member := rapid.IntRange(0, membersKept-1).Draw(t, "member")
	old, e := h.members()[member], h.entry()
	record := h.process(member)
	c := roster.Change{Join: []roster.Member{record}}
	if e.Owner == old {
		if to := some(t, e.InSync, old); to != "" {
			c.Take = []roster.Replica{{Member: to}}
		} else {
			left := slices.DeleteFunc(h.members(), func(i roster.Incarnation) bool { return i == old })
			c.Lose = []roster.Loss{h.loss(t, append(left, record.Incarnation))}
		}
	}
	h.change(t, c)
}
