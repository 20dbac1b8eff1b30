package partition

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the output of the scripts into them")

// TestScripts runs the stories in testdata. A script is a list of steps, each a
// few lines of verbs, then "----", then what they print. Lines of # at the start
// of a step are kept. `go test -update` writes what is printed; read the diff.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			runScript(t, path)
		})
	}
}

func runScript(t *testing.T, path string) {
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{roster: &Roster{}}
	var got bytes.Buffer
	for step := range strings.SplitSeq(strings.TrimSpace(string(want)), "\n\n") {
		verbs, _, _ := strings.Cut(step+"\n", "----\n")
		got.WriteString(verbs + "----\n")
		for line := range strings.Lines(verbs) {
			if !strings.HasPrefix(line, "#") {
				got.WriteString(s.do(strings.Fields(line)))
			}
		}
		got.WriteByte('\n')
	}
	out := append(bytes.TrimRight(got.Bytes(), "\n"), '\n')
	if bytes.Equal(out, want) {
		return
	}
	if *update {
		if err := os.WriteFile(path, out, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("output differs (go test -update, then read the diff); got:\n%s", out)
}

// stage is what a script acts on.
type stage struct {
	roster  *Roster
	pending Command
	sight   Sight
	cluster ClusterTime
	keeper  Timekeeper
	time    Tick
}

// verbs of the scripts. Members are written a1 or b2: the letter is the member,
// the digit its start.
var verbs = map[string]func(*stage, []string) string{
	"form":   (*stage).form,
	"raise":  func(s *stage, a []string) string { return s.apply(Command{Raise: &Raise{Time: number(a[0])}}) },
	"join":   (*stage).join,
	"remove": func(s *stage, a []string) string { return s.applyChange(Change{Remove: incarnations(a)}) },
	"lose":   (*stage).lose,
	"insync": (*stage).inSync,
	"window": func(s *stage, a []string) string { return s.applyChange(Change{Window: number(a[0])}) },
	"seen":   (*stage).seen,
	"plan":   (*stage).plan,
	"hold":   (*stage).hold,
	"commit": func(s *stage, _ []string) string { return s.applyAt(s.pending.From, s.pending) },
	"show":   func(s *stage, _ []string) string { return show(s.roster) },
	"sample": (*stage).sample,
	"at":     (*stage).at,
	"elect":  (*stage).elect,
	"clocks": (*stage).clocks,
}

func (s *stage) do(words []string) string {
	verb, found := verbs[words[0]]
	if !found {
		return "unknown verb " + words[0] + "\n"
	}
	return verb(s, words[1:])
}

// form PARTITIONS WINDOW CEILING
func (s *stage) form(a []string) string {
	settings := Settings{Name: "test", Partitions: int(number(a[0])), Backups: 1, Window: number(a[1])}
	return s.apply(Command{Form: &Form{Grid: GridID{1}, Settings: settings, Ceiling: number(a[2])}})
}

func (s *stage) join(a []string) string { return s.applyChange(Change{Join: records(a)}) }

// lose OWNER PARTITION...
func (s *stage) lose(a []string) string {
	var c Change
	for _, id := range a[1:] {
		c.Lose = append(c.Lose, Loss{Partition: ID(number(id)), Owner: incarnation(a[0])})
	}
	return s.applyChange(c)
}

// inSync PARTITION MEMBER... sets who is in sync, which no command does yet.
func (s *stage) inSync(a []string) string {
	next := *s.roster
	next.Partitions = slices.Clone(next.Partitions)
	next.Partitions[number(a[0])].InSync = incarnations(a[1:])
	s.roster = &next
	return ""
}

// seen [join a1 b1] [gone c1] [assign]
func (s *stage) seen(a []string) string {
	s.sight = Sight{}
	mode := ""
	for _, word := range a {
		switch {
		case word == "join" || word == "gone":
			mode = word
		case word == "assign":
			s.sight.Assign = true
		case mode == "join":
			s.sight.Join = append(s.sight.Join, records([]string{word})...)
		default:
			s.sight.Gone = append(s.sight.Gone, incarnation(word))
		}
	}
	return ""
}

// plan computes the next command from what was seen and shows it.
func (s *stage) plan([]string) string {
	var found bool
	if s.pending, found = Plan(s.roster, s.sight); !found {
		return "nothing to do\n"
	}
	return showCommand(s.pending)
}

// hold raise T keeps a raise for a later commit.
func (s *stage) hold(a []string) string {
	s.pending = Command{From: s.roster.Version, Raise: &Raise{Time: number(a[1])}}
	return showCommand(s.pending)
}

func (s *stage) applyChange(c Change) string { return s.apply(Command{Change: &c}) }

func (s *stage) apply(c Command) string { return s.applyAt(s.roster.Version, c) }

func (s *stage) applyAt(from Version, c Command) string {
	c.From = from
	next, err := s.roster.Apply(c)
	if err != nil {
		if next != s.roster || !errors.Is(err, ErrStale) && !errors.Is(err, ErrRefused) {
			return "BROKEN REFUSAL\n"
		}
		return letters(err.Error()) + "\n"
	}
	s.roster = next
	return ""
}

// sample MONO T
func (s *stage) sample(a []string) string {
	s.cluster = s.cluster.Sample(duration(a[0]), number(a[1]))
	return ""
}

func (s *stage) at(a []string) string {
	if !s.cluster.Known() {
		return "unknown\n"
	}
	return fmt.Sprintln(s.cluster.At(duration(a[0])))
}

func (s *stage) elect([]string) string {
	s.keeper = Timekeeper{}
	return ""
}

// clocks VOTERS ELAPSED CLOCK...
func (s *stage) clocks(a []string) string {
	var clocks []Tick
	for _, word := range a[2:] {
		clocks = append(clocks, number(word))
	}
	var v Verdict
	s.time, s.keeper, v = s.keeper.Next(s.time, duration(a[1]), clocks, int(number(a[0])))
	out := fmt.Sprintf("%d", s.time)
	if !v.Majority {
		out += " no majority"
	}
	if v.Jump > 0 {
		out += fmt.Sprintf(" jump=%d agreed=%s", v.Jump, v.Agreed)
	}
	if v.Held {
		out += " held"
	}
	return out + "\n"
}

func show(r *Roster) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d ceiling %d time %d window %d\n", r.Version, r.Ceiling, r.Time, r.Settings.Window)
	var names []string
	for _, m := range r.Members {
		names = append(names, string(m.Incarnation))
	}
	fmt.Fprintf(&b, "members %s\n", letters(strings.Join(names, " ")))
	for id, p := range r.Partitions {
		fmt.Fprintf(&b, "%d: owner %s in sync %s term %d floor %d lost %d\n", id,
			letters(string(p.Owner)), letters(fmt.Sprint(p.InSync)), p.Term, p.Floor, p.LostTerm)
	}
	return b.String()
}

func showCommand(c Command) string {
	out := fmt.Sprintf("from %d:", c.From)
	if c.Raise != nil {
		return fmt.Sprintf("%s raise %d\n", out, c.Raise.Time)
	}
	for _, m := range c.Change.Join {
		out += " join " + string(m.Incarnation)
	}
	for _, i := range c.Change.Remove {
		out += " remove " + string(i)
	}
	for _, l := range c.Change.Lose {
		out += fmt.Sprintf(" lose %d to %s", l.Partition, l.Owner)
	}
	if c.Change.Window != 0 {
		out += fmt.Sprintf(" window %d", c.Change.Window)
	}
	return letters(out) + "\n"
}

// incarnation turns a1 into aaaaaaaaaaaaaaaa-0000000000000001.
func incarnation(name string) Incarnation {
	return Incarnation(fmt.Sprintf("%s-%016s", strings.Repeat(name[:1], 16), name[1:]))
}

func incarnations(names []string) []Incarnation {
	var out []Incarnation
	for _, name := range names {
		out = append(out, incarnation(name))
	}
	return out
}

func records(names []string) []Member {
	var out []Member
	for _, name := range names {
		out = append(out, record(incarnation(name)))
	}
	return out
}

func record(i Incarnation) Member {
	return Member{Incarnation: i, API: "127.0.0.1:7948", Raft: "127.0.0.1:7947", Gossip: "127.0.0.1:7946"}
}

// letters undoes incarnation throughout a text.
func letters(text string) string {
	for _, member := range "abcdef" {
		long := strings.Repeat(string(member), 16) + "-" + strings.Repeat("0", 15)
		text = strings.ReplaceAll(text, long, string(member))
	}
	return text
}

func number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		panic(err)
	}
	return d
}

// reversed gives a reversed copy.
func reversed[T any](s []T) []T {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}
