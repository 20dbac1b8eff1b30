package roster_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
	"github.com/snowgrid/snowgrid/internal/roster/plan"
	"github.com/snowgrid/snowgrid/internal/script"
)

// TestScripts runs the scripts under testdata.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func() func([]string) string {
		return (&stage{roster: &roster.Roster{}, planner: new(plan.Planner)}).do
	})
}

// stage is the state of a script.
type stage struct {
	roster  *roster.Roster
	planner *plan.Planner
	pending roster.Command
	sight   plan.Sight
}

// verbs of the scripts. Members are written a1 or b2: the letter is the member,
// the digit its start.
var verbs = map[string]func(*stage, []string) string{
	"form": (*stage).form,
	"raise": func(s *stage, a []string) string {
		return s.apply(roster.Command{Raise: &roster.Raise{Time: clustertime.Tick(script.Number(a[0]))}})
	},
	"join": (*stage).join,
	"remove": func(s *stage, a []string) string {
		return s.applyChange(roster.Change{Remove: rostertest.Incarnations(a)})
	},
	"lose":  (*stage).lose,
	"take":  func(s *stage, a []string) string { return s.applyChange(roster.Change{Take: copies(a)}) },
	"add":   func(s *stage, a []string) string { return s.applyChange(roster.Change{Add: copies(a)}) },
	"admit": func(s *stage, a []string) string { return s.applyChange(roster.Change{Admit: copies(a)}) },
	"drop":  func(s *stage, a []string) string { return s.applyChange(roster.Change{Drop: copies(a)}) },
	"settle": func(s *stage, a []string) string {
		return s.applyChange(roster.Change{Settle: rostertest.Incarnations(a)})
	},
	"doubt": func(s *stage, a []string) string {
		return s.applyChange(roster.Change{Doubt: rostertest.Incarnations(a)})
	},
	"stop": func(s *stage, a []string) string {
		return s.applyChange(roster.Change{Stop: clustertime.Tick(script.Number(a[0]))})
	},
	"window": func(s *stage, a []string) string {
		return s.applyChange(roster.Change{Window: clustertime.Span(script.Number(a[0]))})
	},
	"seen":   (*stage).seen,
	"plan":   (*stage).plan,
	"hold":   (*stage).hold,
	"commit": func(s *stage, _ []string) string { return s.applyAt(s.pending.From, s.pending) },
	"show":   func(s *stage, _ []string) string { return show(s.roster) },
	"elect":  (*stage).elect,
}

func (s *stage) do(words []string) string {
	verb, found := verbs[words[0]]
	if !found {
		return "unknown verb " + words[0] + "\n"
	}
	return verb(s, words[1:])
}

// form PARTITIONS WINDOW CEILING [BACKUPS]
func (s *stage) form(a []string) string {
	settings := roster.Settings{Name: "test", Partitions: int(script.Number(a[0])), Backups: 1,
		Window: clustertime.Span(script.Number(a[1]))}
	if len(a) > 3 {
		settings.Backups = int(script.Number(a[3]))
	}
	return s.apply(roster.Command{Form: &roster.Form{Grid: roster.GridID{1}, Settings: settings,
		Ceiling: clustertime.Tick(script.Number(a[2]))}})
}

// join MEMBER... [durable]
func (s *stage) join(a []string) string {
	return s.applyChange(roster.Change{Join: rostertest.Records(a)})
}

// lose OWNER PARTITION... [with MEMBER...]
func (s *stage) lose(a []string) string {
	ids, with := a[1:], []string(nil)
	if at := slices.Index(a, "with"); at > 0 {
		ids, with = a[1:at], a[at+1:]
	}
	var c roster.Change
	for _, id := range ids {
		c.Lose = append(c.Lose, roster.Loss{Partition: roster.PartitionID(script.Number(id)),
			Owner: rostertest.Incarnation(a[0]), With: rostertest.Incarnations(with)})
	}
	return s.applyChange(c)
}

// copies reads MEMBER PARTITION..., as of take, add, admit and drop.
func copies(a []string) []roster.Replica {
	var out []roster.Replica
	for _, id := range a[1:] {
		out = append(out, roster.Replica{roster.PartitionID(script.Number(id)), rostertest.Incarnation(a[0])})
	}
	return out
}

// seen [join a1 b1 [durable]] [leave c1] [silent d1] [gone e1] [held PARTITION...]
// [granted T] [assign] [patient]. A held partition is held at the present version, by
// its present joining replica.
func (s *stage) seen(a []string) string {
	said := make(map[string][]string)
	mode := ""
	for _, word := range a {
		switch word {
		case "join", "leave", "silent", "gone", "held", "granted", "assign", "patient":
			mode = word
			said[mode] = nil
		default:
			said[mode] = append(said[mode], word)
		}
	}
	_, assign := said["assign"]
	_, patient := said["patient"]
	s.sight = plan.Sight{
		Join: rostertest.Records(said["join"]), Leave: rostertest.Incarnations(said["leave"]),
		Silent: rostertest.Incarnations(said["silent"]),
		Gone:   rostertest.Incarnations(said["gone"]), Assign: assign, Patient: patient,
	}
	for _, id := range said["held"] {
		replica := roster.Replica{roster.PartitionID(script.Number(id)), s.roster.Partitions[script.Number(id)].Joining}
		s.sight.Held = append(s.sight.Held, roster.Holding{replica, s.roster.Version})
	}
	for _, until := range said["granted"] {
		s.sight.Granted = clustertime.Tick(script.Number(until))
	}
	return ""
}

// plan computes the next command from the view and prints it.
func (s *stage) plan([]string) string {
	var found bool
	if s.pending, found = s.planner.Plan(s.roster, s.sight); !found {
		return "nothing to do\n"
	}
	return showCommand(s.pending)
}

// hold raise T keeps a raise for a later commit.
func (s *stage) hold(a []string) string {
	s.pending = roster.Command{From: s.roster.Version, Raise: &roster.Raise{Time: clustertime.Tick(script.Number(a[1]))}}
	return showCommand(s.pending)
}

func (s *stage) applyChange(c roster.Change) string { return s.apply(roster.Command{Change: &c}) }

func (s *stage) apply(c roster.Command) string { return s.applyAt(s.roster.Version, c) }

func (s *stage) applyAt(from roster.Version, c roster.Command) string {
	c.From = from
	next, err := s.roster.Apply(c)
	if err != nil {
		if next != s.roster || !errors.Is(err, roster.ErrStale) && !errors.Is(err, roster.ErrRefused) {
			return "BROKEN REFUSAL\n"
		}
		return letters(err.Error()) + "\n"
	}
	s.roster = next
	return ""
}

// elect has a new leader, which knows nothing but the roster.
func (s *stage) elect([]string) string {
	s.planner = new(plan.Planner)
	return ""
}
