package backup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/script"
)

// TestScripts runs the scripts under testdata.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func() func([]string) string {
		return (&stage{replicas: map[string]*actor{}, rosters: []roster.Partition{{}}, updates: map[string]diaryUpdate{}}).do
	})
}

// stage is the state of a script.
type stage struct {
	replicas map[string]*actor
	rosters  []roster.Partition // by version
	updates  map[string]diaryUpdate
}

// verbs of the scripts: REPLICA VERB ARGUMENTS. The result is printed after the replica,
// or as a line of its own.
var verbs = map[string]func(s *stage, a *actor, args []string) (note string, whole bool){
	"observe":      (*stage).observe,
	"change":       (*stage).change,
	"heard":        (*stage).heard,
	"update":       (*stage).update,
	"accept":       (*stage).accept,
	"acknowledged": (*stage).acknowledged,
	"behind":       (*stage).behind,
	"holds":        (*stage).holds,
	"needed":       (*stage).needed,
	"admission":    (*stage).admission,
	"send":         (*stage).send,
}

// do runs one line. Two verbs have no replica: roster, and forge, which makes an update
// that no owner made.
func (s *stage) do(words []string) string {
	switch words[0] {
	case "roster":
		return s.roster(words[1:])
	case "forge":
		return s.forge(words[1:])
	}
	name := words[0]
	if s.replicas[name] == nil {
		s.replicas[name] = newActor(roster.Incarnation(name))
	}
	verb, found := verbs[words[1]]
	if !found {
		return "unknown verb " + words[1] + "\n"
	}
	note, whole := verb(s, s.replicas[name], words[2:])
	if whole {
		return name + " " + note + "\n"
	}
	return s.show(s.replicas[name]) + note + "\n"
}

func (s *stage) show(a *actor) string {
	state := "copy"
	if a.replica.Acts() {
		state = "acts"
	}
	return fmt.Sprintf("%s %s %v %v", a.name, state, a.replica.Position(), a.diary.lines)
}

// roster adds the next version: owner=, term=, lost=, in=, joining=. Other
// fields stay; a named owner begins a term, alone.
func (s *stage) roster(args []string) string {
	version := len(s.rosters)
	p := s.rosters[version-1]
	for _, word := range args[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "owner":
			p.Owner, p.Term, p.Floor = roster.Incarnation(value), roster.Term(version), clustertime.Tick(int64(version)*100)
			p.InSync = incarnations(value)
		case "lost":
			p.LostTerm = roster.Term(script.Number(value))
		case "term":
			p.Term = roster.Term(script.Number(value))
		case "in":
			p.InSync = incarnations(value)
		case "joining":
			p.Joining = roster.Incarnation(value)
		}
	}
	if s.rosters = append(s.rosters, p); args[0] != strconv.Itoa(version) {
		return fmt.Sprintf("this is version %d\n", version)
	}
	return fmt.Sprintf("version %d: owner %s, term %d, lost %d, in sync %v, joining %q\n",
		version, p.Owner, p.Term, p.LostTerm, p.InSync, p.Joining)
}

// forge makes an update NAME that no owner would: version=, term=, number=,
// since=, whole=, changes=.
func (s *stage) forge(args []string) string {
	var u diaryUpdate
	for _, word := range args[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "version":
			u.Version = roster.Version(script.Number(value))
		case "term":
			u.Position.Term = roster.Term(script.Number(value))
		case "number":
			u.Position.Number = uint64(script.Number(value))
		case "since":
			u.Since = uint64(script.Number(value))
		case "whole":
			lines := strings.Split(value, ",")
			u.Whole = &lines
		case "changes":
			for line := range strings.SplitSeq(value, ",") {
				u.Changes = append(u.Changes, []string{line})
			}
		}
	}
	s.updates[args[0]] = u
	return args[0] + " " + describe(u) + "\n"
}

func describe(u diaryUpdate) string {
	head := fmt.Sprintf("at %d to %v", u.Version, u.Position)
	if u.Whole != nil {
		return fmt.Sprintf("%s, whole %v", head, *u.Whole)
	}
	return fmt.Sprintf("%s, after %d %v", head, u.Since, u.Changes)
}

func (s *stage) observe(a *actor, args []string) (string, bool) {
	version := script.Number(args[0])
	if a.replica.Observe(roster.Version(version), s.rosters[version], roster.Storage{}) {
		return " became owner", false
	}
	return "", false
}

func (*stage) change(a *actor, args []string) (string, bool) {
	if !a.replica.Acts() {
		return "does not act", true
	}
	a.write(args...)
	return "", false
}

func (*stage) heard(a *actor, args []string) (string, bool) {
	a.replica.Heard(roster.Term(script.Number(args[0])))
	return "", false
}

// update keeps what TO needs, as NAME.
func (s *stage) update(a *actor, args []string) (string, bool) {
	u, due := a.replica.Update(roster.Incarnation(args[0]))
	if !due {
		return "sends nothing to " + args[0], true
	}
	s.updates[args[1]] = u
	return "sends " + args[0] + " " + args[1] + " " + describe(u), true
}

func (s *stage) accept(a *actor, args []string) (string, bool) {
	held, err := a.replica.Accept(s.updates[args[0]])
	if held != a.replica.Position() {
		return " BROKEN POSITION", false
	}
	return reason(err), false
}

// acknowledged delivers an acknowledgement: FROM VERSION TERM NUMBER.
func (*stage) acknowledged(a *actor, args []string) (string, bool) {
	held := Position{Term: roster.Term(script.Number(args[2])), Number: uint64(script.Number(args[3]))}
	a.replica.Acknowledged(roster.Incarnation(args[0]), roster.Version(script.Number(args[1])), held)
	return "", false
}

func (*stage) behind(a *actor, args []string) (string, bool) {
	a.replica.Behind(roster.Incarnation(args[0]))
	return "", false
}

func (*stage) holds(a *actor, args []string) (string, bool) {
	var out []string
	for _, n := range args {
		out = append(out, fmt.Sprintf("%s: %v", n, a.replica.AllAcknowledged(uint64(script.Number(n)))))
	}
	return "holds " + strings.Join(out, ", "), true
}

func (*stage) needed(a *actor, _ []string) (string, bool) {
	return fmt.Sprint("needs ", a.replica.Needed()), true
}

func (*stage) admission(a *actor, _ []string) (string, bool) {
	h, ready := a.replica.Admission()
	if !ready {
		return "admits no replica", true
	}
	return fmt.Sprintf("admits %s to %d at %d", h.Member, h.Partition, h.Version), true
}

// send brings TO up to date, there and back.
func (s *stage) send(a *actor, args []string) (string, bool) {
	to := s.replicas[args[0]]
	u, due := a.replica.Update(to.name)
	if !due {
		return "sends nothing to " + args[0], true
	}
	held, err := to.replica.Accept(u)
	if errors.Is(err, ErrGap) {
		a.replica.Behind(to.name)
	} else {
		a.replica.Heard(to.replica.Newest())
		a.replica.Acknowledged(to.name, u.Version, held)
	}
	return fmt.Sprintf("sends %s -> %s%s", describe(u), s.show(to), reason(err)), true
}

func reason(err error) string {
	for _, known := range []error{ErrOldTerm, ErrGap, ErrOwnTerm} {
		if errors.Is(err, known) {
			return " refused: " + known.Error()
		}
	}
	if err != nil {
		return " UNKNOWN: " + err.Error()
	}
	return ""
}

func incarnations(list string) []roster.Incarnation {
	var out []roster.Incarnation
	for name := range strings.SplitSeq(list, ",") {
		out = append(out, roster.Incarnation(name))
	}
	slices.Sort(out)
	return out
}
