package partition

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// history is a roster under random commands, with what was ever known of it.
type history struct {
	roster   *Roster
	ceilings []Tick // by version: the highest ceiling known with it
	terms    []Term // by partition: the last term
}

// TestRosterInvariants runs random commands, sound and unsound, computed from
// the newest roster and from old ones, and checks the roster after each.
func TestRosterInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{roster: &Roster{}, ceilings: []Tick{0}}
		h.terms = make([]Term, 5)
		form := Form{Grid: GridID{1}, Settings: Settings{Name: "g", Partitions: len(h.terms), Window: LoneWindow}}
		form.Ceiling = drawTick(t)
		h.apply(t, Command{Form: &form})
		t.Repeat(map[string]func(*rapid.T){
			"raise": func(t *rapid.T) {
				h.apply(t, Command{From: h.drawFrom(t), Raise: &Raise{Time: drawTick(t)}})
			},
			"change": func(t *rapid.T) {
				h.apply(t, Command{From: h.drawFrom(t), Change: drawChange(t)})
			},
			"plan": func(t *rapid.T) {
				if c, found := Plan(h.roster, drawSight(t)); found {
					if err := h.apply(t, c); err != nil {
						t.Fatalf("a planned command is not applicable: %v", err)
					}
				}
			},
			"grow in sync": h.growInSync,
			"":             h.check,
		})
	})
}

// apply applies a command, checks that a refusal changes nothing and that an old
// roster is never written to, and keeps the history.
func (h *history) apply(t *rapid.T, c Command) error {
	before := h.roster
	kept := deepCopy(before)
	next, err := before.Apply(c)
	if !reflect.DeepEqual(before, kept) {
		t.Fatalf("the old roster was written to:\n%+v\n%+v", kept, before)
	}
	if err != nil {
		if next != before {
			t.Fatalf("refused (%v) with another roster", err)
		}
		if errors.Is(err, ErrStale) != (c.From != before.Version) {
			t.Fatalf("from %d at %d: %v", c.From, before.Version, err)
		}
		return err
	}
	if c.From != before.Version {
		t.Fatalf("a command from %d was applied at %d", c.From, before.Version)
	}
	if want := before.Version + 1; c.Raise == nil && next.Version != want || c.Raise != nil && next.Version != before.Version {
		t.Fatalf("version %d after %d", next.Version, before.Version)
	}
	h.roster = next
	if len(h.ceilings) <= int(next.Version) {
		h.ceilings = append(h.ceilings, next.Ceiling)
	}
	if next.Ceiling < before.Ceiling || next.Time < before.Time || next.Settings.Window < before.Settings.Window {
		t.Fatalf("went back: %+v after %+v", next, before)
	}
	h.ceilings[next.Version] = next.Ceiling
	return nil
}

// growInSync puts a member in sync with a partition that has an owner, as a
// later version of the protocol does by a command.
func (h *history) growInSync(t *rapid.T) {
	id := rapid.IntRange(0, len(h.terms)-1).Draw(t, "partition")
	if len(h.roster.Members) == 0 || h.roster.Partitions[id].Owner == "" {
		t.Skip()
	}
	m := rapid.SampledFrom(h.roster.Members).Draw(t, "backup")
	p := h.roster.Partitions[id]
	if slices.Contains(p.InSync, m.Incarnation) {
		t.Skip()
	}
	next := *h.roster
	next.Partitions = slices.Clone(next.Partitions)
	next.Partitions[id].InSync = slices.Sorted(slices.Values(append(slices.Clone(p.InSync), m.Incarnation)))
	h.roster = &next
}

// check holds the roster against the invariants.
func (h *history) check(t *rapid.T) {
	r := h.roster
	for at, m := range r.Members {
		if at > 0 && r.Members[at-1].Incarnation.Member() >= m.Incarnation.Member() {
			t.Fatalf("members are not sorted, or two are one: %v", r.Members)
		}
	}
	for id, p := range r.Partitions {
		h.checkPartition(t, ID(id), p)
		h.terms[id] = p.Term
	}
}

func (h *history) checkPartition(t *rapid.T, id ID, p Partition) {
	if p.Owner == "" {
		if p.Term != 0 || p.InSync != nil {
			t.Fatalf("partition %d has no owner and %+v", id, p)
		}
		return
	}
	if p.Term < h.terms[id] || p.Term > Term(h.roster.Version) || p.LostTerm > p.Term {
		t.Fatalf("partition %d: %+v after term %d", id, p, h.terms[id])
	}
	if !slices.Contains(p.InSync, p.Owner) || !slices.IsSorted(p.InSync) {
		t.Fatalf("partition %d: owner %s of in-sync set %v", id, p.Owner, p.InSync)
	}
	for _, i := range p.InSync {
		if _, found := h.roster.Member(i); !found {
			t.Fatalf("partition %d: %s is no member", id, i)
		}
	}
	for version, ceiling := range h.ceilings[:p.Term] { // I1
		if ceiling > p.Floor {
			t.Fatalf("partition %d: floor %d of term %d is below ceiling %d of version %d",
				id, p.Floor, p.Term, ceiling, version)
		}
	}
}

func (h *history) drawFrom(t *rapid.T) Version {
	back := rapid.SampledFrom([]Version{0, 0, 0, 1}).Draw(t, "back")
	return h.roster.Version - min(back, h.roster.Version)
}

func drawTick(t *rapid.T) Tick {
	return rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, 1000), rapid.Int64()).Draw(t, "tick")
}

func drawIncarnation(t *rapid.T) Incarnation {
	return incarnation(rapid.StringMatching("[abc][123]").Draw(t, "incarnation"))
}

func drawIncarnations(t *rapid.T, most int) []Incarnation {
	out := make([]Incarnation, rapid.IntRange(0, most).Draw(t, "count"))
	for at := range out {
		out[at] = drawIncarnation(t)
	}
	return out
}

func drawMembers(t *rapid.T, most int) []Member {
	var out []Member
	for _, i := range drawIncarnations(t, most) {
		m := record(i)
		switch rapid.IntRange(0, 9).Draw(t, "fault") {
		case 0:
			m.API = "\n"
		case 1:
			m.API = "elsewhere:1"
		}
		out = append(out, m)
	}
	return out
}

func drawChange(t *rapid.T) *Change {
	c := &Change{Join: drawMembers(t, 2), Remove: drawIncarnations(t, 1)}
	for range rapid.IntRange(0, 5).Draw(t, "losses") {
		c.Lose = append(c.Lose, Loss{
			Partition: ID(rapid.IntRange(0, 5).Draw(t, "partition")),
			Owner:     drawIncarnation(t),
		})
	}
	c.Window = rapid.SampledFrom([]Tick{0, 0, 0, LoneWindow, DefaultWindow, MaxWindow + 1}).Draw(t, "window")
	return c
}

func drawSight(t *rapid.T) Sight {
	return Sight{Join: drawMembers(t, 3), Gone: drawIncarnations(t, 3), Assign: rapid.Bool().Draw(t, "assign")}
}

func deepCopy(r *Roster) *Roster {
	out := *r
	out.Members = slices.Clone(r.Members)
	out.Partitions = slices.Clone(r.Partitions)
	for id := range out.Partitions {
		out.Partitions[id].InSync = slices.Clone(out.Partitions[id].InSync)
	}
	return &out
}

// TestCommandHasOnePart: none, or two at once, are refused.
func TestCommandHasOnePart(t *testing.T) {
	r := formed(t, 3, DefaultWindow)
	for _, c := range []Command{
		{From: 1},
		{From: 1, Change: &Change{}},
		{From: 1, Raise: &Raise{}, Change: &Change{Window: 20_000}},
		{From: 1, Form: &Form{}},
	} {
		if next, err := r.Apply(c); !errors.Is(err, ErrRefused) || next != r {
			t.Errorf("%+v: %v", c, err)
		}
	}
	form := Form{Settings: r.Settings}
	if _, err := new(Roster).Apply(Command{Form: &form}); !errors.Is(err, ErrRefused) {
		t.Errorf("a grid without ID: %v", err)
	}
}

// TestJoinContradictions: an incarnation has one record, and does not come and
// go in one entry.
func TestJoinContradictions(t *testing.T) {
	a := record(incarnation("a1"))
	r := mustApply(t, formed(t, 3, DefaultWindow), Change{Join: []Member{a}})
	moved := a
	moved.API = "elsewhere:1"
	for name, c := range map[string]Change{
		"another record":    {Join: []Member{moved}},
		"malformed":         {Join: []Member{{Incarnation: "me"}}},
		"joins and removed": {Join: []Member{a}, Remove: []Incarnation{a.Incarnation}},
	} {
		if next, err := r.Apply(Command{From: r.Version, Change: &c}); !errors.Is(err, ErrRefused) || next != r {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQueries covers what is read from a roster.
func TestQueries(t *testing.T) {
	var none Roster
	if none.Formed() || none.Assigned() || none.Owned("") != nil {
		t.Error("the zero roster is formed, assigned or owned")
	}
	r := formed(t, 3, DefaultWindow)
	if r.Assigned() || r.Owned("") != nil {
		t.Error("a new roster is assigned or owned")
	}
	a, b := incarnation("a1"), incarnation("b1")
	r = mustApply(t, r, Change{Join: []Member{record(b), record(a)}, Lose: []Loss{{2, a}, {0, a}}})
	if got := r.Owned(a); !slices.Equal(got, []ID{0, 2}) || r.Assigned() {
		t.Errorf("owned %v, assigned %v", got, r.Assigned())
	}
	if m, found := r.Member(b); !found || m != record(b) {
		t.Errorf("member b: %v %v", m, found)
	}
	if _, found := r.Member(incarnation("b2")); found {
		t.Error("b2 is a member")
	}
	if r = mustApply(t, r, Change{Lose: []Loss{{1, b}}}); !r.Assigned() {
		t.Error("not assigned")
	}
}

// TestApplyShares: what a command does not change is not copied.
func TestApplyShares(t *testing.T) {
	r := mustApply(t, formed(t, 3, DefaultWindow), Change{Join: records([]string{"a1"})})
	next := mustApply(t, r, Change{Window: 20_000})
	if &next.Members[0] != &r.Members[0] || &next.Partitions[0] != &r.Partitions[0] {
		t.Error("a new window copied members or partitions")
	}
}

func formed(t *testing.T, partitions int, window Tick) *Roster {
	t.Helper()
	form := Form{Grid: GridID{1}, Settings: Settings{Name: "g", Partitions: partitions, Window: window}}
	r, err := new(Roster).Apply(Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustApply(t *testing.T, r *Roster, c Change) *Roster {
	t.Helper()
	next, err := r.Apply(Command{From: r.Version, Change: &c})
	if err != nil {
		t.Fatal(err)
	}
	return next
}
