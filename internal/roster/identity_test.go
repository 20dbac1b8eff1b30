package roster_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/internal/rostertest"
)

// numbering is a roster that takes steps of the set c/web.
type numbering struct {
	t *testing.T
	r *roster.Roster
}

func newNumbering(t *testing.T) *numbering {
	return &numbering{t: t, r: rostertest.Formed(t, 2, roster.DefaultWindow)}
}

func (n *numbering) do(c roster.Identity) error {
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
	return n.do(roster.Identity{Apply: &roster.Application{ID: id, Code: roster.Code{code},
		Addr: fmt.Sprintf("10.0.0.%d:1", code)}})
}

// register has the process with a start register, and returns its incarnation.
func (n *numbering) register(id uint64, code, start byte) (uint64, error) {
	err := n.do(roster.Identity{Register: &roster.Registration{ID: id, Code: roster.Code{code}, Addr: "b:2",
		Start: roster.Code{start}}})
	m, _ := n.set().Numbered(id)
	return m.Incarnation, err
}

func (n *numbering) set() roster.Set {
	s, _ := n.r.Set("c", "web")
	return s
}

// wantIDRefused fails the test unless err names the next number.
func wantIDRefused(t testing.TB, err error, next uint64) {
	t.Helper()
	refused, ok := errors.AsType[*roster.RefusedID](err)
	if !ok || refused.Next != next || !errors.Is(err, roster.ErrIDRefused) || !errors.Is(err, roster.ErrRefused) {
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
	if _, err := n.register(1, 7, 1); !errors.Is(err, roster.ErrNotRegistered) {
		t.Errorf("a number of an unknown set: %v", err)
	}
	if err := n.apply(1, 7); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct {
		id   uint64
		code byte
	}{{2, 7}, {1, 8}} {
		if _, err := n.register(wrong.id, wrong.code, 1); !errors.Is(err, roster.ErrNotRegistered) {
			t.Errorf("number %d with code %d: %v", wrong.id, wrong.code, err)
		}
	}
	for i, start := range []byte{1, 1, 2, 2, 3} { // the second and fourth repeat a lost answer
		want := []uint64{1, 1, 2, 2, 3}[i]
		if inc, err := n.register(1, 7, start); inc != want || err != nil {
			t.Errorf("start %d: incarnation %d, %v", start, inc, err)
		}
	}
	if m, _ := n.set().Numbered(1); m.Addr != "b:2" {
		t.Errorf("the address is %q", m.Addr)
	}
	if _, err := n.register(1, 7, 2); !errors.Is(err, roster.ErrFenced) {
		t.Errorf("a late request of the process before: %v", err)
	}
	sign := roster.Registration{ID: 1, Code: roster.Code{7}, Start: roster.Code{2}, Incarnation: 2}
	if err := n.do(roster.Identity{Register: &sign}); !errors.Is(err, roster.ErrFenced) {
		t.Errorf("a sign of life of the process before: %v", err)
	}
	if err := n.do(roster.Identity{Register: &roster.Registration{ID: 1, Code: roster.Code{7}, Start: roster.Code{9},
		Incarnation: 1}}); !errors.Is(err, roster.ErrFenced) {
		t.Errorf("a sign of life of a process before that: %v", err)
	}
	// An incarnation that the grid has lost is never given again.
	if err := n.do(roster.Identity{Register: &roster.Registration{ID: 1, Code: roster.Code{7}, Start: roster.Code{9},
		Incarnation: 50}}); err != nil {
		t.Error(err)
	}
	if m, _ := n.set().Numbered(1); m.Incarnation != 51 {
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
	if err := n.do(roster.Identity{Clean: []roster.Cleaned{{ID: 2}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		set     string
		id, inc uint64
		want    error
	}{
		{"web", 1, 3, nil},
		{"web", 1, 4, nil}, // a later roster has it
		{"web", 1, 2, roster.ErrFenced},
		{"web", 2, 1, roster.ErrNotRegistered},
		{"web", 3, 1, roster.ErrUnknownSet},
		{"other", 1, 1, roster.ErrUnknownSet},
		{"web", 0, 1, roster.ErrInvalid},
		{"web", 1, 0, roster.ErrInvalid},
	} {
		if err := n.r.CheckIdentity("c", test.set, test.id, test.inc); !errors.Is(err, test.want) ||
			(err == nil) != (test.want == nil) {
			t.Errorf("number %d of %s, incarnation %d: %v", test.id, test.set, test.inc, err)
		}
	}
}

func TestCleanedNumbersStayGiven(t *testing.T) {
	n := newNumbering(t)
	if err := n.do(roster.Identity{Clean: []roster.Cleaned{{ID: 1}}}); !errors.Is(err, roster.ErrUnknownSet) {
		t.Errorf("an unknown set: %v", err)
	}
	if err := errors.Join(n.apply(1, 7), n.apply(2, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := n.register(1, 7, 1); err != nil {
		t.Fatal(err)
	}
	// It registered after the leader had looked.
	if err := n.do(roster.Identity{Clean: []roster.Cleaned{{ID: 1, Incarnation: 0}, {ID: 2}}}); !errors.Is(err,
		roster.ErrStale) || len(n.set().Members) != 2 {
		t.Errorf("%v, %+v", err, n.set())
	}
	all := roster.Identity{Clean: []roster.Cleaned{{ID: 1, Incarnation: 1}, {ID: 2}, {ID: 9}}}
	if err := errors.Join(n.do(all), n.do(all)); err != nil {
		t.Fatal(err)
	}
	if s := n.set(); s.Next != 3 || len(s.Members) != 0 {
		t.Errorf("after the last was removed: %+v", s)
	}
	wantIDRefused(t, n.apply(1, 7), 3) // its own former number
	wantIDRefused(t, n.apply(1, 9), 3)
	if _, err := n.register(1, 7, 2); !errors.Is(err, roster.ErrNotRegistered) {
		t.Errorf("a removed number: %v", err)
	}
	if err := n.do(roster.Identity{Import: &roster.Imported{Numbers: []roster.Application{{ID: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if inc, err := n.register(1, 7, 2); inc != 2 || err != nil { // the removed process had 1
		t.Errorf("a removed number that was restored: incarnation %d, %v", inc, err)
	}
}

func TestImportRestoresNumbers(t *testing.T) {
	n := newNumbering(t)
	in := roster.Identity{Import: &roster.Imported{Next: 3, Numbers: []roster.Application{{ID: 5},
		{ID: 2, Code: roster.Code{8}}}}}
	if err := errors.Join(n.do(in), n.do(in)); err != nil {
		t.Fatal(err)
	}
	if s := n.set(); s.Next != 6 || len(s.Members) != 2 || s.Members[0].ID != 2 {
		t.Fatalf("%+v", s)
	}
	if _, err := n.register(2, 9, 1); !errors.Is(err, roster.ErrNotRegistered) {
		t.Errorf("another code than the imported one: %v", err)
	}
	if inc, err := n.register(5, 9, 1); inc != 1 || err != nil {
		t.Errorf("the first process with an imported number: %d, %v", inc, err)
	}
	if _, err := n.register(5, 8, 2); !errors.Is(err, roster.ErrNotRegistered) {
		t.Errorf("the second: %v", err)
	}
	wantIDRefused(t, n.apply(5, 8), 6)
	before := n.r
	other := roster.Identity{Import: &roster.Imported{Next: 90,
		Numbers: []roster.Application{{ID: 2, Code: roster.Code{1}}}}}
	if err := n.do(other); !errors.Is(err, roster.ErrRefused) || n.r != before {
		t.Errorf("an import of another code: %v", err)
	}
	if err := n.do(roster.Identity{Import: &roster.Imported{}}); err != nil || n.set().Next != 6 {
		t.Errorf("an empty import: %v, %+v", err, n.set())
	}
	if err := n.apply(6, 3); err != nil {
		t.Error(err)
	}
}

// TestStepsOfSetsAreBounded: the error names the value and the limit.
func TestStepsOfSetsAreBounded(t *testing.T) {
	n := newNumbering(t)
	long := strings.Repeat("x", roster.MaxSetName+1)
	app := roster.Application{ID: 1, Code: roster.Code{1}}
	reg := roster.Registration{ID: 1, Code: roster.Code{1}, Start: roster.Code{1}}
	with := func(f func(*roster.Registration)) *roster.Registration { g := reg; f(&g); return &g }
	for text, c := range map[string]roster.Identity{
		"cluster":            {Name: "web", Apply: &app},
		"63 bytes":           {Cluster: "c", Name: long, Apply: &app},
		"control":            {Cluster: "c", Name: "a\nb", Apply: &app},
		"0 set steps":        {Cluster: "c", Name: "web"},
		"2 set steps":        {Cluster: "c", Name: "web", Apply: &app, Register: &reg},
		"number is 0":        {Apply: &roster.Application{Code: roster.Code{1}}},
		"no code":            {Apply: &roster.Application{ID: 1}},
		"255 bytes":          {Apply: &roster.Application{ID: 1, Code: roster.Code{1}, Addr: strings.Repeat("a", 256)}},
		"9007199254740991":   {Apply: &roster.Application{ID: 1 << 53, Code: roster.Code{1}}},
		"without a code":     {Register: with(func(g *roster.Registration) { g.Code = roster.Code{} })},
		"or a start":         {Register: with(func(g *roster.Registration) { g.Start = roster.Code{} })},
		"member ID":          {Register: with(func(g *roster.Registration) { g.Member = "m1" })},
		"is not below":       {Register: with(func(g *roster.Registration) { g.Incarnation = 1 << 53 })},
		"must be 1 to 90071": {Register: with(func(g *roster.Registration) { g.ID = 0 })},
		"next number":        {Import: &roster.Imported{Next: 1<<53 + 1}},
		"number is 90071":    {Import: &roster.Imported{Numbers: []roster.Application{{ID: 1 << 53}}}},
	} {
		if c.Name == "" && c.Cluster == "" {
			c.Cluster, c.Name = "c", "web"
		}
		err := n.do(c)
		if !errors.Is(err, roster.ErrRefused) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
		if err := c.Check(); !errors.Is(err, roster.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("Check, %q: %v", text, err)
		}
	}
	for i := range roster.MaxSets {
		if err := n.do(roster.Identity{Cluster: "c", Name: fmt.Sprint("set", i), Apply: &app}); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.do(roster.Identity{Cluster: "c", Name: "one more", Apply: &app}); !errors.Is(err, roster.ErrRefused) ||
		!strings.Contains(err.Error(), "256") {
		t.Errorf("set 257: %v", err)
	}
	many := roster.Imported{}
	for id := range uint64(roster.MaxNumbered - roster.MaxSets) {
		many.Numbers = append(many.Numbers, roster.Application{ID: id + 2})
	}
	if err := n.do(roster.Identity{Cluster: "c", Name: "set0", Import: &many}); err != nil {
		t.Fatal(err)
	}
	if err := n.do(roster.Identity{Cluster: "c", Name: "set1", Apply: &roster.Application{ID: 2,
		Code: roster.Code{2}}}); !errors.Is(err, roster.ErrRefused) || !strings.Contains(err.Error(), "8192") {
		t.Errorf("number 8193: %v", err)
	}
}

// TestNumbersHaveNoVersion: a step that names a version is refused.
func TestNumbersHaveNoVersion(t *testing.T) {
	c := roster.Command{Identity: &roster.Identity{Cluster: "c", Name: "web",
		Apply: &roster.Application{ID: 1, Code: roster.Code{1}}}}
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
	form := roster.Form{Grid: roster.GridID{9}, Settings: n.r.Settings, Sets: n.r.Sets}
	formed, err := new(roster.Roster).Apply(roster.Command{Form: &form})
	if err != nil || !reflect.DeepEqual(formed.Sets, n.r.Sets) {
		t.Errorf("%+v, %v", formed, err)
	}
	form.Sets = []roster.Set{{Cluster: "c", Name: "web", Next: 1, Members: []roster.Numbered{{ID: 1}}}}
	if _, err := new(roster.Roster).Apply(roster.Command{Form: &form}); !errors.Is(err, roster.ErrRefused) {
		t.Errorf("a number that was not given: %v", err)
	}
}

// TestSetsProperty runs random steps of processes with few numbers, codes and starts, and
// checks the rules of a set after each.
func TestSetsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNumbering(t)
		owner := map[uint64]roster.Code{} // of each number that was ever given, by its code
		given := map[uint64]roster.Code{} // the start of each incarnation of each number
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
					m, _ := n.set().Numbered(g.ID)
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
func drawStep(t *rapid.T) (c roster.Identity) {
	id := rapid.Uint64Range(1, 5)
	code := rapid.Custom(func(t *rapid.T) roster.Code { return roster.Code{rapid.ByteRange(1, 4).Draw(t, "code")} })
	switch rapid.SampledFrom([]string{"apply", "apply", "register", "register", "clean", "import"}).Draw(t, "kind") {
	case "apply":
		c.Apply = &roster.Application{ID: id.Draw(t, "id"), Code: code.Draw(t, "code")}
	case "register":
		c.Register = &roster.Registration{ID: id.Draw(t, "id"), Code: code.Draw(t, "code"), Start: code.Draw(t, "start"),
			Incarnation: rapid.Uint64Range(0, 3).Draw(t, "incarnation")}
	case "clean":
		c.Clean = []roster.Cleaned{{ID: id.Draw(t, "id"), Incarnation: rapid.Uint64Range(0, 3).Draw(t, "incarnation")}}
	case "import":
		c.Import = &roster.Imported{Next: rapid.Uint64Range(0, 5).Draw(t, "next"),
			Numbers: []roster.Application{{ID: id.Draw(t, "id"), Code: code.Draw(t, "code")}}}
	}
	return c
}

// checkStep compares a roster with the one before a step.
func checkStep(t *rapid.T, before, next *roster.Roster, c roster.Identity, err error) {
	rest := *next
	rest.Sets = before.Sets
	if !reflect.DeepEqual(&rest, before) {
		t.Fatalf("%+v changed more than sets: %+v after %+v", c, next, before)
	}
	was, existed := before.Set("c", "web")
	is, exists := next.Set("c", "web")
	if existed && !exists || is.Next < was.Next {
		t.Fatalf("%+v: %+v after %+v", c, is, was)
	}
	if a := c.Apply; a != nil {
		m, has := was.Numbered(a.ID)
		if want := has && m.Code == a.Code || a.ID == max(was.Next, 1); want != (err == nil) {
			t.Fatalf("%+v of %+v: %v", a, was, err)
		}
		if got, _ := is.Numbered(a.ID); err == nil && got.Code != a.Code {
			t.Fatalf("%+v was accepted and %+v has the number", a, got)
		}
	}
	for _, m := range is.Members {
		if old, had := was.Numbered(m.ID); had && m.Incarnation < old.Incarnation {
			t.Fatalf("%+v took the incarnation of %+v back to %+v", c, old, m)
		}
		if old, had := was.Numbered(m.ID); had && (old.Start != m.Start) == (old.Incarnation == m.Incarnation) &&
			c.Register == nil {
			t.Fatalf("%+v changed %+v to %+v", c, old, m)
		}
	}
}

// checkSet: a number is below the next one, and always of the process that it was given
// to first. One that an operator imports again after a clean is of the imported code.
func checkSet(t *rapid.T, r *roster.Roster, owner map[uint64]roster.Code) {
	if err := roster.CheckSets(r.Sets); err != nil {
		t.Fatal(err)
	}
	s, _ := r.Set("c", "web")
	for id := range owner {
		if _, has := s.Numbered(id); !has {
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
