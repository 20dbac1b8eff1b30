package partition_test

import (
	"math"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// emptyTable is a forged whole table of a term.
func emptyTable(term roster.Term, number uint64) partition.Update {
	return partition.Update{
		Version: roster.Version(term), Position: backup.Position{Term: term, Number: number}, Whole: &partition.TableState{},
	}
}

// unnamed are terms without an owner in the roster: later than its version, and of a version
// that named no owner.
func (p *pair) unnamed() map[string]roster.Term {
	return map[string]roster.Term{
		"the last of all":    math.MaxUint64,
		"the next":           roster.Term(p.roster.Version) + 1,
		"one of no owner":    roster.Term(p.roster.Version),
		"a thousand from it": roster.Term(p.roster.Version) + 1000,
	}
}

// bumped is a pair whose newest version named no owner.
func bumped(t *testing.T) *pair {
	p := newPair(t)
	p.raise(1_800_000_000_000) // epochs are in the past
	p.change(roster.Change{Join: []roster.Member{{Incarnation: "cccccccccccccccc-0000000000000001", API: "c:1"}}})
	p.deliver()
	if term := p.roster.Partitions[0].Term; roster.Version(term) == p.roster.Version {
		t.Fatalf("version %d named an owner", term)
	}
	return p
}

// TestUpdateOfAnUnknownTermWaitsForTheRoster: a message of a term that the roster does not name changes
// neither an owner nor a copy. One that it may show later is to be sent again.
func TestUpdateOfAnUnknownTermWaitsForTheRoster(t *testing.T) {
	for what, term := range bumped(t).unnamed() {
		t.Run(what, func(t *testing.T) {
			p := bumped(t)
			for i, m := range p.machines {
				before := m.Position()
				h, err := m.Accept(p.view(), emptyTable(term, 1<<40))
				if err != nil || h.NotYet != (roster.Version(term) > p.roster.Version) {
					t.Errorf("machine %d answers %+v, %v", i, h, err)
				}
				if m.Position() != before || h.Newest >= term {
					t.Errorf("machine %d is at %v, was at %v, and has heard of term %d", i, m.Position(), before, h.Newest)
				}
			}
			created := p.begun("create")
			p.machines[0].Create(p.view(), ref(t, "orders", 1), func(_ attachment.Ref, err error) {
				if err != nil {
					t.Errorf("create: %v", err)
				}
				created(err)
			})
			p.deliver()
			if len(p.open) > 0 {
				t.Errorf("unanswered: %v", p.open)
			}
		})
	}
}

// TestReplyOfAnUnknownTermIsNotBelieved: a replica that tells of a term which the owner's
// roster does not name has neither deposed the owner nor acknowledged anything.
func TestReplyOfAnUnknownTermIsNotBelieved(t *testing.T) {
	for what, term := range bumped(t).unnamed() {
		for field, forge := range map[string]func(h *partition.Holds){
			"newest":  func(h *partition.Holds) { h.Newest = term },
			"held":    func(h *partition.Holds) { h.Held.Term = term },
			"gap":     func(h *partition.Holds) { h.Newest, h.Gap = term, true },
			"not yet": func(h *partition.Holds) { h.NotYet = true },
		} {
			t.Run(what+", "+field, func(t *testing.T) {
				p := bumped(t)
				created := p.begun("create")
				p.machines[0].Create(p.view(), ref(t, "orders", 1), func(_ attachment.Ref, err error) {
					if err != nil {
						t.Errorf("create: %v", err)
					}
					created(err)
				})
				forged := p.mail[0]
				p.mail = p.mail[1:]
				p.carry(forged) // its answer is the letter that follows
				answer := p.mail[0]
				p.mail = p.mail[1:]
				forge(&answer.holds)
				p.carry(answer)
				if len(p.open) != 1 || !p.machines[0].Acts() {
					t.Errorf("after the answer %v is open, and the owner acts: %v", p.open, p.machines[0].Acts())
				}
				p.deliver()
				if len(p.open) > 0 {
					t.Errorf("unanswered when asked again: %v", p.open)
				}
			})
		}
	}
}

// TestUpdateOfAKnownTermIsApplied: an update that was answered "not yet" is accepted once the
// roster names its term.
func TestUpdateOfAKnownTermIsApplied(t *testing.T) {
	p := bumped(t)
	late := *p.roster
	p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[1]}}})
	u := emptyTable(p.roster.Partitions[0].Term, 1)
	stale := partition.View{Roster: &late, Time: late.Time, Mono: p.mono}
	third := partition.New(0, "cccccccccccccccc-0000000000000001", 0, seat{p, 2})
	if h, err := third.Accept(stale, u); err != nil || !h.NotYet || h.Held == u.Position {
		t.Errorf("before the roster shows it: %+v, %v", h, err)
	}
	if h, err := third.Accept(p.view(), u); err != nil || h.NotYet || h.Held != u.Position {
		t.Errorf("when the roster shows it: %+v, %v", h, err)
	}
}
