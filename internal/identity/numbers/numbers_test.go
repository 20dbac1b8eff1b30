package numbers_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// numbering is a roster that takes steps of the set c/web.
type numbering struct {
	t *testing.T
	r *roster.Roster
}

func newNumbering(t *testing.T) *numbering {
	return &numbering{t: t, r: formed(t, numbers.Registry{})}
}

// formed returns the roster of a grid with sets.
func formed(t *testing.T, r numbers.Registry) *roster.Roster {
	t.Helper()
	settings := roster.Settings{Name: "g", Partitions: 2, Backups: 1, Window: roster.DefaultWindow}
	form := roster.Form{Grid: roster.GridID{1}, Registry: r, Settings: settings}
	out, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (n *numbering) do(c numbers.Command) error {
	n.t.Helper()
	if c.Name == "" {
		c.Cluster, c.Name = "c", "web"
	}
	next, err := n.r.Apply(roster.Command{Identity: &c})
	if err != nil && next != n.r {
		n.t.Fatalf("%+v was refused, %v, and changed the roster", c, err)
	}
	n.r = next
	return err
}

func (n *numbering) apply(id uint64, code byte) error {
	return n.do(numbers.Command{Apply: &numbers.Application{ID: id, Code: numbers.Code{code},
		Addr: fmt.Sprintf("10.0.0.%d:1", code)}})
}

// register has the process with a start register, and returns its incarnation.
func (n *numbering) register(id uint64, code, start byte) (uint64, error) {
	err := n.do(numbers.Command{Register: &numbers.Registration{ID: id, Code: numbers.Code{code}, Addr: "b:2",
		Start: numbers.Code{start}}})
	m, _ := n.set().Process(id)
	return m.Incarnation, err
}

func (n *numbering) set() numbers.Set {
	s, _ := n.r.Set("c", "web")
	return s
}

// wantIDRefused fails the test unless err names the next number.
func wantIDRefused(t testing.TB, err error, next uint64) {
	t.Helper()
	refused, ok := errors.AsType[*numbers.RefusedID](err)
	if !ok || refused.Next != next || !errors.Is(err, numbers.ErrIDRefused) || !errors.Is(err, numbers.ErrRefused) {
		t.Errorf("%v, want a refusal that names %d", err, next)
	}
}

func TestNumbersAreGivenInOrder(t *testing.T) {
	n := newNumbering(t)
	wantIDRefused(t, n.apply(2, 7), 1) // an unknown set begins with 1
	for id, code := range []byte{7, 8, 9} {
		if err := n.apply(uint64(id)+1, code); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.apply(2, 8); err != nil { // its answer was lost
		t.Error(err)
	}
	wantIDRefused(t, n.apply(2, 9), 4) // of another process
	wantIDRefused(t, n.apply(5, 9), 4) // a gap
	s := n.set()
	if s.Next != 4 || len(s.Members) != 3 || s.Members[1].Addr != "10.0.0.8:1" || s.Members[1].Incarnation != 0 {
		t.Errorf("%+v", s)
	}
	if _, found := n.r.Set("c", "other"); found {
		t.Error("another set appeared")
	}
}

func TestRegistrationsFenceEarlierOnes(t *testing.T) {
	n := newNumbering(t)
	if _, err := n.register(1, 7, 1); !errors.Is(err, numbers.ErrNotRegistered) {
		t.Errorf("a number of an unknown set: %v", err)
	}
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct {
		id   uint64
		code byte
	}{{2, 7}, {1, 8}} {
		if _, err := n.register(wrong.id, wrong.code, 1); !errors.Is(err, numbers.ErrNotRegistered) {
			t.Errorf("number %d with code %d: %v", wrong.id, wrong.code, err)
		}
	}
	for i, start := range []byte{1, 1, 2, 2, 3} { // the second and fourth repeat a lost answer
		want := []uint64{1, 1, 2, 2, 3}[i]
		if inc, err := n.register(1, 7, start); inc != want || err != nil {
			t.Errorf("start %d: incarnation %d, %v", start, inc, err)
		}
	}
	if m, _ := n.set().Process(1); m.Addr != "b:2" {
		t.Errorf("the address is %q", m.Addr)
	}
	if _, err := n.register(1, 7, 2); !errors.Is(err, numbers.ErrFenced) {
		t.Errorf("a late request of the process before: %v", err)
	}
	sign := numbers.Registration{ID: 1, Code: numbers.Code{7}, Start: numbers.Code{2}, Incarnation: 2}
	if err := n.do(numbers.Command{Register: &sign}); !errors.Is(err, numbers.ErrFenced) {
		t.Errorf("a sign of life of the process before: %v", err)
	}
	if err := n.do(numbers.Command{Register: &numbers.Registration{ID: 1, Code: numbers.Code{7}, Start: numbers.Code{9},
		Incarnation: 1}}); !errors.Is(err, numbers.ErrFenced) {
		t.Errorf("a sign of life of a process before that: %v", err)
	}
	// An incarnation that the grid has lost is never given again.
	if err := n.do(numbers.Command{Register: &numbers.Registration{ID: 1, Code: numbers.Code{7}, Start: numbers.Code{9},
		Incarnation: 50}}); err != nil {
		t.Error(err)
	}
	if m, _ := n.set().Process(1); m.Incarnation != 51 {
		t.Errorf("after incarnation 50: %+v", m)
	}
}

func TestIdentityOfRequests(t *testing.T) {
	n := newNumbering(t)
	if err := errors.Join(n.apply(1, 7), n.apply(2, 8)); err != nil {
		t.Fatal(err)
	}
	for start := byte(1); start <= 3; start++ {
		if _, err := n.register(1, 7, start); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.do(numbers.Command{Clean: []numbers.Cleaned{{ID: 2}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		set     string
		id, inc uint64
		want    error
	}{
		{"web", 1, 3, nil},
		{"web", 1, 4, nil}, // a later roster has it
		{"web", 1, 2, numbers.ErrFenced},
		{"web", 2, 1, numbers.ErrNotRegistered},
		{"web", 3, 1, numbers.ErrUnknownSet},
		{"other", 1, 1, numbers.ErrUnknownSet},
		{"web", 0, 1, numbers.ErrInvalid},
		{"web", 1, 0, numbers.ErrInvalid},
	} {
		if err := n.r.CheckIdentity("c", test.set, test.id, test.inc); !errors.Is(err, test.want) ||
			(err == nil) != (test.want == nil) {
			t.Errorf("number %d of %s, incarnation %d: %v", test.id, test.set, test.inc, err)
		}
	}
}

func TestCleanedNumbersStayGiven(t *testing.T) {
	n := newNumbering(t)
	if err := n.do(numbers.Command{Clean: []numbers.Cleaned{{ID: 1}}}); !errors.Is(err, numbers.ErrUnknownSet) {
		t.Errorf("an unknown set: %v", err)
	}
	if err := errors.Join(n.apply(1, 7), n.apply(2, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.register(1, 7, 1); err != nil {
		t.Fatal(err)
	}
	// It registered after the leader had looked.
	if err := n.do(numbers.Command{Clean: []numbers.Cleaned{{ID: 1, Incarnation: 0}, {ID: 2}}}); !errors.Is(err,
		numbers.ErrChanged) || len(n.set().Members) != 2 {
		t.Errorf("%v, %+v", err, n.set())
	}
	all := numbers.Command{Clean: []numbers.Cleaned{{ID: 1, Incarnation: 1}, {ID: 2}, {ID: 9}}}
	if err := errors.Join(n.do(all), n.do(all)); err != nil {
		t.Fatal(err)
	}
	if s := n.set(); s.Next != 3 || len(s.Members) != 0 {
		t.Errorf("after the last was removed: %+v", s)
	}
	wantIDRefused(t, n.apply(1, 7), 3) // its own former number
	wantIDRefused(t, n.apply(1, 9), 3)
	if _, err := n.register(1, 7, 2); !errors.Is(err, numbers.ErrNotRegistered) {
		t.Errorf("a removed number: %v", err)
	}
	if err := n.do(numbers.Command{Import: &numbers.Imported{Numbers: []numbers.Application{{ID: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if inc, err := n.register(1, 7, 2); inc != 2 || err != nil { // the removed process had 1
		t.Errorf("a removed number that was restored: incarnation %d, %v", inc, err)
	}
}

// TestImportedIncarnations: a process gets a greater incarnation than the set gave before it was lost, also if it
// has registered before the import.
func TestImportedIncarnations(t *testing.T) {
	n := newNumbering(t)
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	if inc, err := n.register(1, 7, 1); inc != 1 || err != nil {
		t.Fatalf("incarnation %d, %v", inc, err)
	}
	in := numbers.Command{Import: &numbers.Imported{Incarnation: 9, Numbers: []numbers.Application{{ID: 1}, {ID: 2}}}}
	if err := n.do(in); err != nil || n.set().Greatest() != 9 {
		t.Fatalf("%v, %+v", err, n.set())
	}
	if inc, err := n.register(1, 7, 1); inc != 1 || err != nil {
		t.Errorf("a sign of life: incarnation %d, %v", inc, err)
	}
	for _, start := range []byte{2, 3} {
		if inc, err := n.register(1, 7, start); inc != 8+uint64(start) || err != nil {
			t.Errorf("a start after the import: incarnation %d, %v", inc, err)
		}
	}
	if inc, err := n.register(2, 8, 1); inc != 10 || err != nil || n.set().Greatest() != 11 {
		t.Errorf("the first start of an imported number: incarnation %d, %v; %+v", inc, err, n.set())
	}
}

func TestImportRestoresNumbers(t *testing.T) {
	n := newNumbering(t)
	in := numbers.Command{Import: &numbers.Imported{Next: 3, Numbers: []numbers.Application{{ID: 5},
		{ID: 2, Code: numbers.Code{8}}}}}
	if err := errors.Join(n.do(in), n.do(in)); err != nil {
		t.Fatal(err)
	}
	if s := n.set(); s.Next != 6 || len(s.Members) != 2 || s.Members[0].ID != 2 {
		t.Fatalf("%+v", s)
	}
	if s := n.set(); s.Members[0].State() != "applied" || s.Members[1].State() != "imported" {
		t.Errorf("the states are %s and %s", s.Members[0].State(), s.Members[1].State())
	}
	if _, err := n.register(2, 9, 1); !errors.Is(err, numbers.ErrNotRegistered) {
		t.Errorf("another code than the imported one: %v", err)
	}
	if inc, err := n.register(5, 9, 1); inc != 1 || err != nil {
		t.Errorf("the first process with an imported number: %d, %v", inc, err)
	}
	if p, _ := n.set().Process(5); p.State() != "registered" {
		t.Errorf("its state is %s", p.State())
	}
	if _, err := n.register(5, 8, 2); !errors.Is(err, numbers.ErrNotRegistered) {
		t.Errorf("the second: %v", err)
	}
	wantIDRefused(t, n.apply(5, 8), 6)
	before := n.r
	other := numbers.Command{Import: &numbers.Imported{Next: 90,
		Numbers: []numbers.Application{{ID: 2, Code: numbers.Code{1}}}}}
	if err := n.do(other); !errors.Is(err, numbers.ErrRefused) || n.r != before {
		t.Errorf("an import of another code: %v", err)
	}
	if err := n.do(numbers.Command{Import: &numbers.Imported{}}); err != nil || n.set().Next != 6 {
		t.Errorf("an empty import: %v, %+v", err, n.set())
	}
	if err := n.apply(6, 3); err != nil {
		t.Error(err)
	}
}

// TestStepsOfSetsAreBounded: the error names the value and the limit.
func TestStepsOfSetsAreBounded(t *testing.T) {
	n := newNumbering(t)
	long := strings.Repeat("x", numbers.MaxSetName+1)
	app := numbers.Application{ID: 1, Code: numbers.Code{1}}
	reg := numbers.Registration{ID: 1, Code: numbers.Code{1}, Start: numbers.Code{1}}
	with := func(f func(*numbers.Registration)) *numbers.Registration { g := reg; f(&g); return &g }
	for text, c := range map[string]numbers.Command{
		"cluster":             {Name: "web", Apply: &app},
		"63 bytes":            {Cluster: "c", Name: long, Apply: &app},
		"control":             {Cluster: "c", Name: "a\nb", Apply: &app},
		"0 set steps":         {Cluster: "c", Name: "web"},
		"2 set steps":         {Cluster: "c", Name: "web", Apply: &app, Register: &reg},
		"number is 0":         {Apply: &numbers.Application{Code: numbers.Code{1}}},
		"no code":             {Apply: &numbers.Application{ID: 1}},
		"255 bytes":           {Apply: &numbers.Application{ID: 1, Code: numbers.Code{1}, Addr: strings.Repeat("a", 256)}},
		"9007199254740991":    {Apply: &numbers.Application{ID: 1 << 53, Code: numbers.Code{1}}},
		"without a code":      {Register: with(func(g *numbers.Registration) { g.Code = numbers.Code{} })},
		"or a start":          {Register: with(func(g *numbers.Registration) { g.Start = numbers.Code{} })},
		"member ID":           {Register: with(func(g *numbers.Registration) { g.Member = "m1" })},
		"is not below":        {Register: with(func(g *numbers.Registration) { g.Incarnation = 1 << 53 })},
		"must be 1 to 90071":  {Register: with(func(g *numbers.Registration) { g.ID = 0 })},
		"incarnation is 9007": {Import: &numbers.Imported{Incarnation: 1 << 53}},
		"next number":         {Import: &numbers.Imported{Next: 1<<53 + 1}},
		"number is 90071":     {Import: &numbers.Imported{Numbers: []numbers.Application{{ID: 1 << 53}}}},
	} {
		if c.Name == "" && c.Cluster == "" {
			c.Cluster, c.Name = "c", "web"
		}
		err := n.do(c)
		if !errors.Is(err, numbers.ErrRefused) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
		if err := c.Check(); !errors.Is(err, numbers.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("Check, %q: %v", text, err)
		}
	}
	for i := range numbers.MaxSets {
		if err := n.do(numbers.Command{Cluster: "c", Name: fmt.Sprint("set", i), Apply: &app}); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.do(numbers.Command{Cluster: "c", Name: "one more", Apply: &app}); !errors.Is(err, numbers.ErrRefused) ||
		!strings.Contains(err.Error(), "256") {
		t.Errorf("set 257: %v", err)
	}
	many := numbers.Imported{}
	for id := range uint64(numbers.MaxNumbered - numbers.MaxSets) {
		many.Numbers = append(many.Numbers, numbers.Application{ID: id + 2})
	}
	if err := n.do(numbers.Command{Cluster: "c", Name: "set0", Import: &many}); err != nil {
		t.Fatal(err)
	}
	if err := n.do(numbers.Command{Cluster: "c", Name: "set1", Apply: &numbers.Application{ID: 2,
		Code: numbers.Code{2}}}); !errors.Is(err, numbers.ErrRefused) || !strings.Contains(err.Error(), "8192") {
		t.Errorf("number 8193: %v", err)
	}
}

// TestNumbersHaveNoVersion: a step that names a version is refused.
func TestNumbersHaveNoVersion(t *testing.T) {
	c := roster.Command{Identity: &numbers.Command{Cluster: "c", Name: "web",
		Apply: &numbers.Application{ID: 1, Code: numbers.Code{1}}}}
	n := newNumbering(t)
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	if _, err := n.r.Apply(roster.Command{From: n.r.Version + 1, Identity: c.Identity}); !errors.Is(err, roster.ErrStale) {
		t.Errorf("a step of a version: %v", err)
	}
}

// TestSetsSurviveARecovery: the roster of a recovered grid has the sets of the old one.
func TestSetsSurviveARecovery(t *testing.T) {
	n := newNumbering(t)
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	if r := formed(t, n.r.Registry); !reflect.DeepEqual(r.Sets, n.r.Sets) {
		t.Errorf("%+v", r)
	}
	form := roster.Form{Grid: roster.GridID{9}, Settings: n.r.Settings}
	form.Sets = []numbers.Set{{Cluster: "c", Name: "web", Next: 1, Members: []numbers.Process{{ID: 1}}}}
	if _, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
		t.Errorf("a number that was not given: %v", err)
	}
}

// TestSetsProperty runs random steps of processes with few numbers, codes and starts, and
// checks the rules of a set after each.
func TestSetsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNumbering(t)
		owner := map[uint64]numbers.Code{} // of each number that was ever given, by its code
		given := map[uint64]numbers.Code{} // the start of each incarnation of each number
		rt.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { checkSet(t, n.r, owner) },
			"step": func(t *rapid.T) {
				before := n.r
				c := drawStep(t)
				err := n.do(c)
				checkStep(t, before, n.r, c, err)
				again := n.r
				if err == nil {
					if err := n.do(c); err != nil || !reflect.DeepEqual(again, n.r) {
						t.Fatalf("%+v, repeated, gave %v and\n%+v after\n%+v", c, err, n.r, again)
					}
				}
				if g := c.Register; g != nil && err == nil {
					m, _ := n.set().Process(g.ID)
					key := g.ID<<32 | m.Incarnation
					if first, known := given[key]; known && first != m.Start {
						t.Fatalf("incarnation %d of number %d was given to two processes", m.Incarnation, g.ID)
					}
					given[key] = m.Start
				}
			},
		})
	})
}

// drawStep returns any step, mostly of numbers near the first ones.
func drawStep(t *rapid.T) (c numbers.Command) {
	id := rapid.Uint64Range(1, 5)
	code := rapid.Custom(func(t *rapid.T) numbers.Code { return numbers.Code{rapid.ByteRange(1, 4).Draw(t, "code")} })
	switch rapid.SampledFrom([]string{"apply", "apply", "register", "register", "clean", "import"}).Draw(t, "kind") {
	case "apply":
		c.Apply = &numbers.Application{ID: id.Draw(t, "id"), Code: code.Draw(t, "code")}
	case "register":
		c.Register = &numbers.Registration{ID: id.Draw(t, "id"), Code: code.Draw(t, "code"), Start: code.Draw(t, "start"),
			Incarnation: rapid.Uint64Range(0, 3).Draw(t, "incarnation")}
	case "clean":
		c.Clean = []numbers.Cleaned{{ID: id.Draw(t, "id"), Incarnation: rapid.Uint64Range(0, 3).Draw(t, "incarnation")}}
	case "import":
		c.Import = &numbers.Imported{Next: rapid.Uint64Range(0, 5).Draw(t, "next"),
			Numbers: []numbers.Application{{ID: id.Draw(t, "id"), Code: code.Draw(t, "code")}}}
	}
	return c
}

// checkStep compares a roster with the one before a step.
func checkStep(t *rapid.T, before, next *roster.Roster, c numbers.Command, err error) {
	rest := *next
	rest.Registry = before.Registry
	if !reflect.DeepEqual(&rest, before) {
		t.Fatalf("%+v changed more than sets: %+v after %+v", c, next, before)
	}
	was, existed := before.Set("c", "web")
	is, exists := next.Set("c", "web")
	if existed && !exists || is.Next < was.Next {
		t.Fatalf("%+v: %+v after %+v", c, is, was)
	}
	if a := c.Apply; a != nil {
		m, has := was.Process(a.ID)
		if want := has && m.Code == a.Code || a.ID == max(was.Next, 1); want != (err == nil) {
			t.Fatalf("%+v of %+v: %v", a, was, err)
		}
		if got, _ := is.Process(a.ID); err == nil && got.Code != a.Code {
			t.Fatalf("%+v was accepted and %+v has the number", a, got)
		}
	}
	for _, m := range is.Members {
		if old, had := was.Process(m.ID); had && m.Incarnation < old.Incarnation {
			t.Fatalf("%+v took the incarnation of %+v back to %+v", c, old, m)
		}
		if old, had := was.Process(m.ID); had && (old.Start != m.Start) == (old.Incarnation == m.Incarnation) &&
			c.Register == nil {
			t.Fatalf("%+v changed %+v to %+v", c, old, m)
		}
	}
}

// checkSet: a number is below the next one, and always of the process that it was given
// to first. One that an operator imports again after a clean is of the imported code.
func checkSet(t *rapid.T, r *roster.Roster, owner map[uint64]numbers.Code) {
	if fault := r.SetsFault(numbers.Registry{}); fault != "" {
		t.Fatal(fault)
	}
	s, _ := r.Set("c", "web")
	for id := range owner {
		if _, has := s.Process(id); !has {
			delete(owner, id)
		}
	}
	for _, m := range s.Members {
		if first, known := owner[m.ID]; known && first != m.Code {
			t.Fatalf("number %d went from the process of code %s to that of %s", m.ID, first, m.Code)
		}
		owner[m.ID] = m.Code
	}
}
