package backup

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

	"github.com/snowgrid/snowgrid/partition"
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
	s := &stage{replicas: map[string]*actor{}, tables: map[string]Table[[]string]{}}
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

// diary is a machine whose content is the list of what happened to it.
type diary struct{ lines []string }

func (d *diary) TakeOffice(floor partition.Tick, lost bool) {
	if lost {
		d.lines = nil
	}
	d.lines = append(d.lines, fmt.Sprintf("floor%d", floor))
}

func (d *diary) Snapshot() []string { return slices.Clone(d.lines) }

func (d *diary) Restore(lines []string) { d.lines = slices.Clone(lines) }

// actor is a replica with its machine.
type actor struct {
	replica *Replica[[]string]
	diary   *diary
}

func newActor(name string) *actor {
	d := &diary{}
	return &actor{replica: New(7, partition.Incarnation(name), d), diary: d}
}

// write makes a change as the owner does.
func (a *actor) write(line string) Position {
	a.diary.lines = append(a.diary.lines, line)
	return a.replica.Changed()
}

// stage is what a script acts on.
type stage struct {
	replicas map[string]*actor
	tables   map[string]Table[[]string]
}

// do runs one line: REPLICA VERB ARGUMENTS. It prints the replica afterwards.
func (s *stage) do(words []string) string {
	name := words[0]
	if s.replicas[name] == nil {
		s.replicas[name] = newActor(name)
	}
	a, args := s.replicas[name], words[2:]
	note := ""
	switch words[1] {
	case "observe": // VERSION OWNER TERM FLOOR LOSTTERM
		p := partition.Partition{
			Owner:    partition.Incarnation(args[1]),
			Term:     partition.Term(number(args[2])),
			Floor:    number(args[3]),
			LostTerm: partition.Term(number(args[4])),
		}
		if a.replica.Observe(partition.Version(number(args[0])), p) {
			note = " took office"
		}
	case "change": // LINE
		if !a.replica.Acts() {
			return name + " does not act\n"
		}
		a.write(args[0])
	case "send": // TABLE
		s.tables[args[0]] = a.replica.Table()
	case "accept": // TABLE
		held, err := a.replica.Accept(s.tables[args[0]])
		note = reason(err)
		if held != a.replica.Position() {
			note = " BROKEN POSITION"
		}
	case "heard": // TERM
		a.replica.Heard(partition.Term(number(args[0])))
	default:
		return "unknown verb " + words[1] + "\n"
	}
	return s.show(name, note)
}

func (s *stage) show(name, note string) string {
	a := s.replicas[name]
	state := "copy"
	if a.replica.Acts() {
		state = "acts"
	}
	return fmt.Sprintf("%s %s %v %v%s\n", name, state, a.replica.Position(), a.diary.lines, note)
}

func reason(err error) string {
	for _, known := range []error{ErrOldTerm, ErrOldPosition, ErrOwnTerm} {
		if errors.Is(err, known) {
			return " refused: " + known.Error()
		}
	}
	return ""
}

func number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
