package backup

import (
	"errors"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/partition"
	"pgregory.net/rapid"
)

// history is the log of a roster with one partition: commands as a leader could
// give them, from R2 to R5. Who holds what, the leader knows from owners alone.
type history struct {
	rosters []*partition.Roster // by version
	starts  int                 // processes started so far
	held    []partition.Holding // what owners said, of whatever version
}

const membersKept = 4

func newHistory(t *rapid.T) *history {
	h := &history{rosters: []*partition.Roster{{}}}
	form := partition.Form{Grid: partition.GridID{1}, Ceiling: 1000}
	form.Settings = partition.Settings{Name: "g", Partitions: 1, Window: partition.MinWindow}
	h.apply(t, partition.Command{Form: &form})
	var join []partition.Member
	for n := range membersKept {
		join = append(join, h.process(n))
	}
	h.change(t, partition.Change{Join: join})
	return h
}

// process gives the record of a new process of a member.
func (h *history) process(member int) partition.Member {
	h.starts++
	return partition.Member{Incarnation: partition.Incarnation(fmt.Sprintf("%016x-%016x", member+0xa, h.starts))}
}

func (h *history) newest() *partition.Roster { return h.rosters[len(h.rosters)-1] }

func (h *history) entry() partition.Partition { return h.newest().Partitions[0] }

// entryAt gives what a version says about the partition; version 0, nothing.
func (h *history) entryAt(v partition.Version) partition.Partition {
	if v == 0 {
		return partition.Partition{}
	}
	return h.rosters[v].Partitions[0]
}

func (h *history) members() []partition.Incarnation {
	var out []partition.Incarnation
	for _, m := range h.newest().Members {
		out = append(out, m.Incarnation)
	}
	return out
}

func (h *history) apply(t *rapid.T, c partition.Command) {
	next, err := h.newest().Apply(c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	h.rosters = append(h.rosters, next)
}

func (h *history) change(t *rapid.T, c partition.Change) {
	h.apply(t, partition.Command{From: h.newest().Version, Change: &c})
}

// raise moves the ceiling, at the same version.
func (h *history) raise(t *rapid.T) {
	next, err := h.newest().Apply(partition.Command{From: h.newest().Version, Raise: &partition.Raise{Time: h.newest().Ceiling}})
	if err != nil {
		t.Fatal(err)
	}
	h.rosters[len(h.rosters)-1] = next
}

// some draws one of those that are not excluded, "" if there is none.
func some(t *rapid.T, from []partition.Incarnation, except ...partition.Incarnation) partition.Incarnation {
	left := slices.DeleteFunc(slices.Clone(from), func(i partition.Incarnation) bool { return slices.Contains(except, i) })
	if len(left) == 0 {
		return ""
	}
	return rapid.SampledFrom(left).Draw(t, "member")
}

// take is R2. What a leader's command does to a partition without anybody who can
// do it, it leaves undone.
func (h *history) take(t *rapid.T) {
	if to := some(t, h.entry().InSync, h.entry().Owner); to != "" {
		h.change(t, partition.Change{Take: []partition.Replica{{Member: to}}})
	}
}

// lose is R3: anybody begins afresh, alone or with others.
func (h *history) lose(t *rapid.T) {
	h.change(t, partition.Change{Lose: []partition.Loss{h.loss(t, h.members())}})
}

func (*history) loss(t *rapid.T, members []partition.Incarnation) partition.Loss {
	l := partition.Loss{Owner: some(t, members)}
	for _, i := range members {
		if i != l.Owner && rapid.Bool().Draw(t, "with") {
			l.With = append(l.With, i)
		}
	}
	return l
}

// add begins R5, also in the place of somebody who joins already.
func (h *history) add(t *rapid.T) {
	e := h.entry()
	if i := some(t, h.members(), append(slices.Clone(e.InSync), e.Joining)...); i != "" && e.Owner != "" {
		h.change(t, partition.Change{Add: []partition.Replica{{Member: i}}})
	}
}

// admit ends R5 with what an owner said once. If that is of an earlier version,
// the log refuses it.
func (h *history) admit(t *rapid.T) bool {
	if len(h.held) == 0 {
		return false
	}
	said := h.held[len(h.held)-1-rapid.IntRange(0, min(3, len(h.held)-1)).Draw(t, "said before")]
	said.Partition = 0
	next, err := h.newest().Apply(partition.Command{From: said.Version, Change: &partition.Change{Admit: []partition.Replica{said.Replica}}})
	if errors.Is(err, partition.ErrStale) {
		return false
	}
	if err != nil {
		t.Fatalf("%+v is not admitted: %v", said, err)
	}
	h.rosters = append(h.rosters, next)
	return true
}

// drop is R4, or gives a join up.
func (h *history) drop(t *rapid.T) {
	e := h.entry()
	if i := some(t, append(slices.Clone(e.InSync), e.Joining), e.Owner, ""); i != "" {
		h.change(t, partition.Change{Drop: []partition.Replica{{Member: i}}})
	}
}

// restart replaces a member's process by a new one, which holds nothing (R8).
func (h *history) restart(t *rapid.T) {
	member := rapid.IntRange(0, membersKept-1).Draw(t, "member")
	old, e := h.members()[member], h.entry()
	record := h.process(member)
	c := partition.Change{Join: []partition.Member{record}}
	if e.Owner == old {
		if to := some(t, e.InSync, old); to != "" {
			c.Take = []partition.Replica{{Member: to}}
		} else {
			left := slices.DeleteFunc(h.members(), func(i partition.Incarnation) bool { return i == old })
			c.Lose = []partition.Loss{h.loss(t, append(left, record.Incarnation))}
		}
	}
	h.change(t, c)
}
