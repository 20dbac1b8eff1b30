package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// walk is a grid whose members come, go, fall silent and restart at random,
// while a leader plans.
type walk struct {
	roster  *roster.Roster
	planner *Planner
	starts  map[string]int                // by letter: how often it started
	alive   map[string]roster.Incarnation // by letter
	leaving map[roster.Incarnation]bool
	silent  map[roster.Incarnation]bool
	gone    []roster.Incarnation
	granted clustertime.Tick
	durable string // letters of members with a disk
	zoned   string // letters of members with a zone of their own; the others have none
}

const letterCount = 6

// TestPlanWalk: whatever happens, every planned command applies and keeps the
// promises of [Planner.Plan]; and once things are calm, everything comes to where
// the ring wants it.
func TestPlanWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &walk{
			durable: rapid.SampledFrom([]string{"", "abcdef", "ab", "c", "ace"}).Draw(t, "durable"),
			zoned:   rapid.SampledFrom([]string{"", "abcdef", "cd"}).Draw(t, "zoned"),
			planner: new(Planner), starts: map[string]int{}, alive: map[string]roster.Incarnation{},
			leaving: map[roster.Incarnation]bool{}, silent: map[roster.Incarnation]bool{},
		}
		form := roster.Form{Grid: roster.GridID{1}, Settings: roster.Settings{
			Name: "g", Partitions: rapid.SampledFrom([]int{1, 2, 5, 12, 150}).Draw(t, "partitions"),
			Backups: rapid.IntRange(0, 3).Draw(t, "backups"), Window: roster.LoneWindow,
		}}
		w.roster, _ = new(roster.Roster).Apply(roster.Command{Form: &form})
		w.start(t)
		t.Repeat(map[string]func(*rapid.T){
			"start": w.start,
			"stop": func(t *rapid.T) {
				letter := w.someone(t)
				w.gone = append(w.gone, w.alive[letter])
				delete(w.alive, letter)
			},
			"leave":  func(t *rapid.T) { w.leaving[w.alive[w.someone(t)]] = true },
			"hush":   func(t *rapid.T) { w.silent[w.alive[w.someone(t)]] = true },
			"answer": func(*rapid.T) { clear(w.silent) },
			"elect":  func(*rapid.T) { w.planner = new(Planner) },
			"shown grants": func(t *rapid.T) {
				w.granted = max(w.granted, w.roster.Ceiling+clustertime.Tick(rapid.Int64Range(-2000, 2000).Draw(t, "beyond")))
			},
			"raise": func(t *rapid.T) {
				w.raise(clustertime.Span(rapid.Int64Range(0, int64(2*roster.LoneWindow)).Draw(t, "elapsed")))
			},
			"plan":       w.plan,
			"plan again": w.plan,
			"plan on":    w.plan,
			"":           func(t *rapid.T) { rostertest.CheckRoster(t, w.roster) },
		})
		w.calm(t)
	})
}

// start starts a process of some member, also of one that has one.
func (w *walk) start(t *rapid.T) {
	letter := string(rune('a' + rapid.IntRange(0, letterCount-1).Draw(t, "letter")))
	w.starts[letter]++
	w.alive[letter] = rostertest.Incarnation(fmt.Sprint(letter, w.starts[letter]))
}

// someone gives the letter of a live member, but not of the last one.
func (w *walk) someone(t *rapid.T) string {
	if len(w.alive) < 2 {
		t.Skip("it is the last")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(w.alive))).Draw(t, "who")
}

func (w *walk) raise(elapsed clustertime.Span) {
	w.roster, _ = w.roster.Apply(roster.Command{From: w.roster.Version,
		Raise: &roster.Raise{Time: w.roster.Time.Add(elapsed)}})
}

// sight gives what an honest leader sees now. Those who replaced an older process
// are not confirmed dead by that.
func (w *walk) sight() Sight {
	s := Sight{Gone: slices.Clone(w.gone), Granted: w.granted, Assign: true}
	for _, i := range slices.Sorted(maps.Values(w.alive)) {
		if _, member := w.roster.Member(i); !member {
			joins := rostertest.Record(i)
			joins.Durable = strings.Contains(w.durable, string(i[:1]))
			joins.Zone = w.zoneOf(i)
			s.Join = append(s.Join, joins)
		}
	}
	s.Leave = slices.Sorted(maps.Keys(w.leaving))
	s.Silent = slices.Sorted(maps.Keys(w.silent))
	for _, m := range w.roster.Members {
		if w.alive[string(m.Incarnation[:1])] != m.Incarnation && !slices.Contains(s.Silent, m.Incarnation) {
			s.Silent = append(s.Silent, m.Incarnation)
		}
	}
	s.Zones = map[roster.Incarnation]string{}
	for _, m := range w.roster.Members {
		s.Zones[m.Incarnation] = w.zoneOf(m.Incarnation)
	}
	for id, p := range w.roster.Partitions {
		if p.Joining != "" {
			s.Held = append(s.Held, roster.Holding{Replica: roster.Replica{Partition: roster.PartitionID(id), Member: p.Joining},
				Version: w.roster.Version})
		}
		s.Persisted = append(s.Persisted, roster.Persisted{Partition: roster.PartitionID(id), Version: w.roster.Version})
	}
	return s
}

// zoneOf returns the zone that a process states.
func (w *walk) zoneOf(i roster.Incarnation) string {
	if strings.Contains(w.zoned, string(i[:1])) {
		return string(i[:1])
	}
	return ""
}

// plan plans with a possible view of a leader, which is incomplete, and applies the result.
func (w *walk) plan(t *rapid.T) {
	s := w.sight()
	s.Assign = rapid.Bool().Draw(t, "assign")
	s.Patient = rapid.Bool().Draw(t, "patient")
	for at := range s.Held {
		switch rapid.IntRange(0, 5).Draw(t, "said") {
		case 0:
			s.Held[at].Version--
		case 1:
			s.Held[at].Member = w.roster.Members[0].Incarnation
		}
	}
	for at := range s.Persisted {
		if rapid.IntRange(0, 2).Draw(t, "on disk") == 0 {
			s.Persisted[at].Version--
		}
	}
	if rapid.Bool().Draw(t, "not seen yet") {
		s.Join = nil
	}
	w.apply(t, s)
}

// apply plans on a sight and holds the command against the promises. It reports
// whether there was something to do.
func (w *walk) apply(t *rapid.T, s Sight) bool {
	c, found := w.planner.Plan(w.roster, s)
	mirrored := Sight{
		Join: reversed(s.Join), Leave: reversed(s.Leave), Silent: reversed(s.Silent),
		Gone: reversed(s.Gone), Held: reversed(s.Held), Persisted: reversed(s.Persisted),
		Assign: s.Assign, Patient: s.Patient, Granted: s.Granted, Zones: s.Zones,
	}
	if other, _ := new(Planner).Plan(w.roster, mirrored); !reflect.DeepEqual(c, other) {
		t.Fatalf("the order of the view matters, or the planner:\n%+v\n%+v", c.Change, other.Change)
	}
	if !found {
		return false
	}
	before := w.roster
	next, err := before.Apply(c)
	if err != nil {
		t.Fatalf("%v: %+v", err, c.Change)
	}
	k := newWitness(before, next, s, *c.Change)
	k.checkMembers(t)
	k.checkSettled(t)
	for id := range next.Partitions {
		k.checkPartition(t, roster.PartitionID(id))
	}
	if s.Patient {
		k.checkPatient(t)
	}
	if n := next.Joining(); n > maxJoining && n > before.Joining() {
		t.Fatalf("%d partitions copy their table", n)
	}
	w.roster = next
	return true
}

// calm removes all faults: every member answers, the dead are known, all joining ones have
// their tables. The grid is then as the ring wants it, within a bounded number of
// commands.
func (w *walk) calm(t *rapid.T) {
	clear(w.silent)
	for !slices.ContainsFunc(slices.Collect(maps.Values(w.alive)),
		func(i roster.Incarnation) bool { return !w.leaving[i] }) {
		w.start(t) // one member has to stay
	}
	for _, m := range w.roster.Members {
		if i := m.Incarnation; w.alive[string(i[:1])] != i {
			w.gone = append(w.gone, i) // its next process may be gone as well, and not replace it
		}
	}
	settings := w.roster.Settings
	rounds := 1 + settings.Partitions/maxJoining
	limit := 2*letterCount + 10 + 6*rounds*(1+settings.Backups)
	w.raise(clustertime.Span(w.granted) + 2*roster.LoneWindow)
	for n := 0; w.apply(t, w.sight()); n++ {
		if n > limit {
			t.Fatalf("not at rest after %d commands: %+v", n, w.roster)
		}
		w.raise(2 * roster.LoneWindow)
	}
	w.checkRest(t)
}

func (w *walk) checkRest(t *rapid.T) {
	r := w.roster
	rostertest.CheckRoster(t, r)
	var stay []candidate
	for _, m := range r.Members {
		if w.alive[string(m.Incarnation[:1])] != m.Incarnation {
			t.Fatalf("%s is a member and dead", m.Incarnation)
		}
		if !w.leaving[m.Incarnation] {
			stay = append(stay, candidate{member: m.Incarnation.Member(), durable: m.Durable, zone: m.Zone})
		}
	}
	for _, i := range w.alive {
		if _, member := r.Member(i); !member && !w.leaving[i] {
			t.Fatalf("%s is not a member", i)
		}
	}
	if len(stay) < len(r.Members) {
		t.Fatalf("a leaving member is not removed: %v", r.Members)
	}
	_, durable := idsOf(stay)
	placed := spread(stay, len(r.Partitions), r.Settings.Backups)
	for id, p := range r.Partitions {
		var want []roster.Incarnation
		for _, member := range placed[id] {
			want = append(want, w.alive[string(member[:1])])
		}
		if set := slices.Sorted(slices.Values(want)); p.Owner != want[0] || !slices.Equal(p.InSync, set) || p.Joining != "" {
			t.Fatalf("partition %d: %+v, want %v", id, p, want)
		}
		if disks := r.Storage(roster.PartitionID(id)).Members(); len(disks) > 0 && !slices.Equal(p.Disk, disks) ||
			len(durable) > 0 && len(disks) == 0 {
			t.Fatalf("partition %d: the disks of %v are named, and %v are those of replicas", id, p.Disk, disks)
		}
	}
	mixed := len(durable) > 0 && len(durable) < len(stay) && r.Settings.Backups == 0 // the durable ones own all
	for _, m := range r.Members {
		if mixed {
			break
		}
		if owned := len(r.Owned(m.Incarnation)); owned > placeLimit(len(stay), len(r.Partitions)) {
			t.Fatalf("%s owns %d", m.Incarnation, owned)
		}
	}
	for _, m := range r.Members {
		if zone := w.zoneOf(m.Incarnation); m.Zone != zone {
			t.Fatalf("%s is in zone %q, not in %q", m.Incarnation, m.Zone, zone)
		}
	}
	if len(r.Unsettled) > 0 {
		t.Fatalf("unsettled at rest: %v", r.Unsettled)
	}
}

// reversed returns a reversed copy.
func reversed[T any](s []T) []T {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}
