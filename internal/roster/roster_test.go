package roster_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// history is a roster under random commands, with its earlier versions.
type history struct {
	roster   *roster.Roster
	ceilings []clustertime.Tick   // by version: the highest ceiling known with it
	terms    []roster.Term        // by partition: the last term
	stopped  map[roster.Term]bool // terms of losses right after an orderly stop (S1)
}

// TestRosterInvariants runs random commands, sound and unsound, computed from
// the newest roster and from old ones, and checks the roster after each.
func TestRosterInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{roster: &roster.Roster{}, ceilings: []clustertime.Tick{0}, terms: make([]roster.Term, 4),
			stopped: map[roster.Term]bool{}}
		form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{Name: "g", Partitions: len(h.terms),
			Window: roster.LoneWindow}}
		form.Ceiling = clustertime.Tick(rapid.Int64Range(0, 10_000).Draw(t, "ceiling"))
		h.mustApply(t, roster.Command{Form: &form})
		planner := new(plan.Planner)
		t.Repeat(map[string]func(*rapid.T){
			"raise": func(t *rapid.T) {
				_ = h.apply(t, roster.Command{From: h.drawFrom(t), Raise: &roster.Raise{Time: drawTick(t)}})
			},
			"sound": func(t *rapid.T) {
				c := drawSound(t, h.roster)
				h.mustApply(t, roster.Command{From: h.roster.Version, Change: &c})
			},
			"several": func(t *rapid.T) {
				var c roster.Change
				for range rapid.IntRange(2, 4).Draw(t, "parts") {
					c = rostertest.Both(c, drawSound(t, h.roster))
				}
				_ = h.apply(t, roster.Command{From: h.drawFrom(t), Change: &c})
			},
			"unsound": func(t *rapid.T) {
				c := rostertest.Both(drawUnsound(t), drawSound(t, h.roster))
				_ = h.apply(t, roster.Command{From: h.drawFrom(t), Change: &c})
			},
			"plan": func(t *rapid.T) {
				if c, found := planner.Plan(h.roster, drawSight(t, h.roster)); found {
					h.mustApply(t, c)
				}
			},
			"": h.check,
		})
	})
}

func (h *history) mustApply(t *rapid.T, c roster.Command) {
	if err := h.apply(t, c); err != nil {
		t.Fatalf("a sound command is not applicable: %v", err)
	}
}

// apply applies a command, checks that a refusal changes nothing and that an old
// roster is never written to, and keeps the history.
func (h *history) apply(t *rapid.T, c roster.Command) error {
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
		if stale := errors.Is(err, roster.ErrStale); stale != (c.From != before.Version) ||
			stale == errors.Is(err, roster.ErrRefused) {
			t.Fatalf("from %d at %d: %v", c.From, before.Version, err)
		}
		return err
	}
	if c.From != before.Version {
		t.Fatalf("a command from %d was applied at %d", c.From, before.Version)
	}
	switch {
	case c.Raise != nil:
		checkRaise(t, before, next, *c.Raise)
	case c.Change != nil:
		checkChange(t, before, next, *c.Change)
		h.stopped[roster.Term(next.Version)] = before.Stopped > 0
	}
	h.roster = next
	h.ceilings = append(h.ceilings[:next.Version], next.Ceiling)
	return nil
}

// check holds the roster against the invariants.
func (h *history) check(t *rapid.T) {
	rostertest.CheckRoster(t, h.roster)
	for id, p := range h.roster.Partitions {
		if p.Term < h.terms[id] {
			t.Fatalf("partition %d: term %d after %d", id, p.Term, h.terms[id])
		}
		h.terms[id] = p.Term
		if p.Term == p.LostTerm && h.stopped[p.Term] {
			continue // no owner is left that could grant up to an older ceiling
		}
		for version, ceiling := range h.ceilings[:p.Term] { // I1
			if ceiling > p.Floor {
				t.Fatalf("partition %d: floor %d of term %d is below ceiling %d of version %d",
					id, p.Floor, p.Term, ceiling, version)
			}
		}
	}
}

func (h *history) drawFrom(t *rapid.T) roster.Version {
	back := rapid.SampledFrom([]roster.Version{0, 0, 0, 1}).Draw(t, "back")
	return h.roster.Version - min(back, h.roster.Version)
}

func drawTick(t *rapid.T) clustertime.Tick {
	return clustertime.Tick(rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, 1000), rapid.Int64()).Draw(t,
		"tick"))
}

func drawIncarnation(t *rapid.T) roster.Incarnation {
	return rostertest.Incarnation(rapid.StringMatching("[abcd][123]").Draw(t, "incarnation"))
}

func drawIncarnations(t *rapid.T, most int) []roster.Incarnation {
	out := make([]roster.Incarnation, rapid.IntRange(0, most).Draw(t, "count"))
	for at := range out {
		out[at] = drawIncarnation(t)
	}
	return out
}

func drawMembers(t *rapid.T, most int) []roster.Member {
	var out []roster.Member
	for _, i := range drawIncarnations(t, most) {
		m := rostertest.Record(i)
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

func drawReplicas(t *rapid.T, most int) []roster.Replica {
	var out []roster.Replica
	for _, i := range drawIncarnations(t, most) {
		out = append(out, roster.Replica{roster.PartitionID(rapid.IntRange(0, 4).Draw(t, "partition")), i})
	}
	return out
}

// drawUnsound gives one part, drawn without a look at the roster.
func drawUnsound(t *rapid.T) roster.Change {
	var c roster.Change
	switch rapid.IntRange(0, 14).Draw(t, "part") {
	case 0:
		c.Join = drawMembers(t, 2)
	case 1:
		c.Remove = drawIncarnations(t, 2)
	case 2:
		for _, m := range drawReplicas(t, 2) {
			c.Lose = append(c.Lose, roster.Loss{Partition: m.Partition, Owner: m.Member, With: drawIncarnations(t, 2)})
		}
	case 3:
		c.Take = drawReplicas(t, 2)
	case 4:
		c.Add = drawReplicas(t, 2)
	case 5:
		c.Admit = drawReplicas(t, 2)
	case 6:
		c.Drop = drawReplicas(t, 2)
	case 7:
		c.Settle = drawIncarnations(t, 2)
	case 8:
		c.Doubt = drawIncarnations(t, 2)
	case 9:
		c.Window = rapid.SampledFrom([]clustertime.Span{roster.LoneWindow, roster.DefaultWindow,
			roster.MaxWindow + 1}).Draw(t, "window")
	case 10:
		c.Granted, c.Stop = drawTick(t), drawTick(t)
	case 11:
		c.Voters = rapid.IntRange(-1, 9).Draw(t, "voters")
	case 14:
		c.Expect = rapid.SampledFrom([]int{-1, 0, 1, 3, roster.MaxExpect, roster.MaxExpect + 1}).Draw(t, "expect")
	case 13:
		n := rapid.IntRange(-1, 3).Draw(t, "backups")
		c.Backups = &n
	case 12:
		for _, i := range drawIncarnations(t, 2) {
			c.Zones = append(c.Zones, roster.Zoning{Member: i, Zone: rapid.SampledFrom([]string{"", "x", "\n"}).Draw(t, "zone")})
		}
	}
	return c
}

// drawSound gives one part that the rules allow.
func drawSound(t *rapid.T, r *roster.Roster) roster.Change {
	sound := soundMoves(r)
	soundMembers(t, r, sound)
	kind := rapid.SampledFrom(slices.Sorted(maps.Keys(sound))).Draw(t, "kind")
	return rapid.SampledFrom(sound[kind]).Draw(t, kind)
}

// soundMoves gives every single move that the rules allow, by kind.
func soundMoves(r *roster.Roster) map[string][]roster.Change {
	sound := make(map[string][]roster.Change)
	for at, p := range r.Partitions {
		id := roster.PartitionID(at)
		for n, m := range r.Members {
			move := []roster.Replica{{id, m.Incarnation}}
			var with []roster.Incarnation
			for _, other := range r.Members[n+1:] {
				with = append(with, other.Incarnation)
			}
			sound["lose"] = append(sound["lose"], roster.Change{Lose: []roster.Loss{{id, m.Incarnation, with}}})
			isIn := slices.Contains(p.InSync, m.Incarnation)
			switch isOwner, joins := p.Owner == m.Incarnation, p.Joining == m.Incarnation; {
			case isOwner:
			case isIn:
				sound["take"] = append(sound["take"], roster.Change{Take: move})
				sound["drop"] = append(sound["drop"], roster.Change{Drop: move})
				sound["strike"] = append(sound["strike"], roster.Change{Drop: move,
					Strike: []roster.MemberID{m.Incarnation.Member()}})
			case joins:
				sound["admit"] = append(sound["admit"], roster.Change{Admit: move})
				sound["give up"] = append(sound["give up"], roster.Change{Drop: move})
			case p.Owner != "":
				sound["add"] = append(sound["add"], roster.Change{Add: move})
			}
		}
		if len(r.Storage(id).Next) > 0 {
			sound["persist"] = append(sound["persist"], roster.Change{Persist: []roster.PartitionID{id}})
		}
		for _, m := range p.Disk {
			if !r.Has(m) {
				sound["forget"] = append(sound["forget"], roster.Change{Forget: []roster.MemberID{m}})
			}
		}
	}
	return sound
}

// soundMembers adds the changes of members and settings that the rules allow.
func soundMembers(t *rapid.T, r *roster.Roster, sound map[string][]roster.Change) {
	known := func(i roster.Incarnation) bool { _, found := r.Member(i); return found }
	comes := rostertest.Record(drawIncarnation(t))
	comes.Durable = rapid.Bool().Draw(t, "durable")
	if !known(comes.Incarnation) {
		c := heirs(r, comes.Incarnation.Member(), comes.Incarnation)
		sound["join"] = []roster.Change{rostertest.Both(c, roster.Change{Join: []roster.Member{comes}})}
	}
	for _, m := range r.Members {
		i := m.Incarnation
		for _, other := range r.Members {
			if other != m {
				c := heirs(r, i.Member(), other.Incarnation)
				sound["remove"] = append(sound["remove"], rostertest.Both(c, roster.Change{Remove: []roster.Incarnation{i}}))
				sound["strike a member"] = append(sound["strike a member"],
					rostertest.Both(c, roster.Change{Remove: []roster.Incarnation{i}, Strike: []roster.MemberID{i.Member()}}))
			}
		}
		if r.Settled(i) {
			sound["doubt"] = append(sound["doubt"], roster.Change{Doubt: []roster.Incarnation{i}})
		} else {
			sound["settle"] = append(sound["settle"], roster.Change{Settle: []roster.Incarnation{i}})
		}
	}
	sound["granted"] = []roster.Change{{Granted: r.Ceiling + 1}, {Granted: r.Ceiling/2 + 1}}
	if r.Settings.Window < roster.MaxWindow {
		sound["window"] = []roster.Change{{Window: r.Settings.Window + 1}}
	}
	if r.InUse() < roster.CurrentProtocol {
		sound["protocol"] = []roster.Change{{Protocol: r.InUse() + 1}}
	}
	q := roster.Quota{Pattern: spelling.Pattern(rapid.StringMatching(`[ab*]{1,3}`).Draw(t, "pattern")),
		Names: rapid.IntRange(0, 9).Draw(t, "names")}
	sound["quota"] = []roster.Change{{Quotas: []roster.Quota{q}}}
	for _, row := range r.Quotas {
		sound["quota dropped"] = append(sound["quota dropped"], roster.Change{DropQuotas: []spelling.Pattern{row.Pattern}})
	}
	for _, n := range []int{1, 3, 5, 7} {
		if n != r.Settings.MostVoters() {
			sound["voters"] = append(sound["voters"], roster.Change{Voters: n})
		}
	}
	for _, n := range []int{1, 2, roster.MaxExpect} {
		if n != r.Settings.Expect {
			sound["expect"] = append(sound["expect"], roster.Change{Expect: n})
		}
	}
	for _, n := range []int{0, 1, 2} {
		if n != r.Settings.Backups {
			sound["backups"] = append(sound["backups"], roster.Change{Backups: &n})
		}
	}
	for _, m := range r.Members {
		sound["zone"] = append(sound["zone"],
			roster.Change{Zones: []roster.Zoning{{Member: m.Incarnation, Zone: m.Zone + "z"}}})
	}
	if len(r.Members) == 1 && r.Members[0].Durable && r.Ceiling > 0 {
		sound["stop"] = []roster.Change{{Stop: r.Ceiling/2 + 1}}
	}
}

// heirs moves the partitions of a member: to an in-sync replica, or lost to next.
func heirs(r *roster.Roster, out roster.MemberID, next roster.Incarnation) roster.Change {
	var c roster.Change
	for at, p := range r.Partitions {
		if p.Owner.Member() != out || p.Owner == "" {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(p.InSync), func(i roster.Incarnation) bool { return i.Member() == out })
		if len(others) > 0 {
			c.Take = append(c.Take, roster.Replica{roster.PartitionID(at), others[0]})
		} else {
			c.Lose = append(c.Lose, roster.Loss{Partition: roster.PartitionID(at), Owner: next})
		}
	}
	return c
}

func drawSight(t *rapid.T, r *roster.Roster) plan.Sight {
	s := plan.Sight{
		Join: drawMembers(t, 3), Leave: drawIncarnations(t, 1), Silent: drawIncarnations(t, 2), Gone: drawIncarnations(t, 2),
		Assign: rapid.Bool().Draw(t, "assign"), Patient: rapid.Bool().Draw(t, "patient"),
	}
	for id, p := range r.Partitions {
		if p.Joining != "" && rapid.Bool().Draw(t, "held") {
			s.Held = append(s.Held, roster.Holding{roster.Replica{roster.PartitionID(id), p.Joining}, r.Version})
		}
		if rapid.Bool().Draw(t, "persisted") {
			s.Persisted = append(s.Persisted, roster.Persisted{roster.PartitionID(id), r.Version})
		}
	}
	return s
}

func deepCopy(r *roster.Roster) *roster.Roster {
	out := *r
	out.Members, out.Unsettled = slices.Clone(r.Members), slices.Clone(r.Unsettled)
	out.Partitions = slices.Clone(r.Partitions)
	for id := range out.Partitions {
		out.Partitions[id].InSync = slices.Clone(out.Partitions[id].InSync)
		out.Partitions[id].Disk = slices.Clone(out.Partitions[id].Disk)
	}
	return &out
}
