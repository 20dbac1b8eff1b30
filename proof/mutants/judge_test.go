package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// script plays the outcomes of test runs: with[i] of the i-th run with the mutant,
// without[i] of the i-th on the unchanged code. The last one repeats.
type script struct {
	with, without []verdict
	ran           []string
}

func (s *script) run(_ context.Context, m mutant, tests []string) (verdict, error) {
	left, kind := &s.without, "without "
	if m.file != "" {
		left, kind = &s.with, "with "
	}
	s.ran = append(s.ran, kind+strings.Join(tests, " "))
	v := (*left)[0]
	if len(*left) > 1 {
		*left = (*left)[1:]
	}
	return v, nil
}

var (
	passes = verdict{}
	fails  = verdict{outcome: killed, test: "TestA/b", said: "got 2"}
	broken = verdict{outcome: unbuilt}
)

// TestKillIsConfirmed: a failure kills only if the test passes without the mutant and
// fails again with it.
func TestKillIsConfirmed(t *testing.T) {
	const whole, one = "./x -run X", "./x -run X -run ^TestA$/^b$"
	tests := []struct {
		name          string
		with, without []verdict
		want          outcome
		ran           []string
	}{
		{"passes", []verdict{passes}, []verdict{passes}, survived, []string{"with " + whole}},
		{"does not compile", []verdict{broken}, []verdict{passes}, unbuilt, []string{"with " + whole}},
		{"fails again", []verdict{fails}, []verdict{passes}, killed,
			[]string{"with " + whole, "without " + one, "with " + one}},
		{"fails at the third repeat", []verdict{fails, passes, passes, fails}, []verdict{passes}, killed,
			[]string{"with " + whole, "without " + one, "with " + one, "with " + one, "with " + one}},
		{"fails without the mutant", []verdict{fails}, []verdict{fails}, flaky, []string{"with " + whole, "without " + one}},
		{"failed once", []verdict{fails, passes}, []verdict{passes}, flaky,
			[]string{"with " + whole, "without " + one, "with " + one, "with " + one, "with " + one}},
		{"fails to compile when repeated", []verdict{fails, broken}, []verdict{passes}, flaky,
			[]string{"with " + whole, "without " + one, "with " + one, "with " + one, "with " + one}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &script{with: test.with, without: test.without}
			j := newJudge(s.run)
			v, err := j.verdict(t.Context(), mutant{file: "x.go", tests: strings.Fields(whole)})
			if err != nil || v.outcome != test.want || !reflect.DeepEqual(s.ran, test.ran) {
				t.Errorf("outcome %v, want %v, error %v, ran %q", v.outcome, test.want, err, s.ran)
			}
		})
	}
}

// TestUnchangedCodeRunsOncePerCommand: the second kill knows how the test does without
// the mutant.
func TestUnchangedCodeRunsOncePerCommand(t *testing.T) {
	s := &script{with: []verdict{fails}, without: []verdict{passes}}
	j := newJudge(s.run)
	for _, file := range []string{"x.go", "y.go"} {
		if v, err := j.verdict(t.Context(), mutant{file: file, tests: []string{"./x"}}); err != nil || v.outcome != killed {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if len(s.ran) != 3+2 {
		t.Errorf("ran %q", s.ran)
	}
}

func TestVerdictOfOutput(t *testing.T) {
	tests := []struct{ out, test, said string }{
		{"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        a_test.go:7: got 2\nFAIL\n", "TestA/b", "got 2"},
		{"panic: boom\n\ngoroutine 1\nrunning tests:\n\tTestC (3s)\n", "TestC", "panic: boom"},
		{"goleak: Errors on successful test run\nFAIL\tx\n", unknownTest, ""},
	}
	for _, test := range tests {
		if v := verdictOf(test.out); v != (verdict{outcome: killed, test: test.test, said: test.said}) {
			t.Errorf("%q is %+v", test.out, v)
		}
	}
}

// TestAlone: a test is repeated in its package, and with the flags of the command.
func TestAlone(t *testing.T) {
	for want, v := range map[string]verdict{
		"-C m ./x ./y -short":                    {test: unknownTest},
		"-C m example.org/y -short":              {test: unknownTest, pkg: "example.org/y"},
		"-C m example.org/y -short -run ^TestA$": {test: "TestA", pkg: "example.org/y"},
	} {
		if got := alone(strings.Fields("-C m ./x ./y -short"), v); strings.Join(got, " ") != want {
			t.Errorf("%+v alone: %q, want %s", v, got, want)
		}
	}
}

// TestSuiteOf: the arguments of go test become packages and the flags of their programs.
func TestSuiteOf(t *testing.T) {
	for args, want := range map[string]suite{
		"./x ./y/...": {packages: []string{"./x", "./y/..."}},
		"./x -short -run A -seeds 8": {packages: []string{"./x"}, flags: []string{"-test.short", "-test.run", "A", "-seeds",
			"8"}},
		"-C a/b . -skip B": {module: "a/b", packages: []string{"."}, flags: []string{"-test.skip", "B"}},
		"-tags b . -run C": {tags: "b", packages: []string{"."}, flags: []string{"-test.run", "C"}},
	} {
		got := suiteOf(strings.Fields(args))
		if got.module != want.module || got.tags != want.tags || !slices.Equal(got.packages, want.packages) ||
			!slices.Equal(got.flags, want.flags) {
			t.Errorf("%s is %+v, want %+v", args, got, want)
		}
	}
}

// TestRunner: the test programs of a package notice a weakened line; they pass on the
// unchanged code, and a line that does not compile is told apart.
func TestRunner(t *testing.T) {
	t.Chdir("../..")
	r := runner{newBuilds(t.TempDir())}
	weak := mutant{file: "internal/spelling/pattern.go", old: "return string(p) == name",
		tests: []string{"./internal/spelling", "-run", "^TestMatches$"}}
	for line, want := range map[string]verdict{
		weak.old:           {},
		"return false":     {outcome: killed, test: "TestMatches"},
		"return something": {outcome: unbuilt},
	} {
		m := weak
		m.new = line
		v, err := r.run(t.Context(), m, m.tests)
		if v.said, v.pkg = "", ""; err != nil || v != want {
			t.Errorf("%s: %+v, want %+v; %v", line, v, want, err)
		}
		r.forget(m)
	}
	if v, err := r.run(t.Context(), mutant{}, weak.tests); err != nil || v != (verdict{}) {
		t.Errorf("the unchanged code: %+v, %v", v, err)
	}
	for _, test := range []struct {
		tests []string
		long  bool
	}{{weak.tests, false}, {[]string{"./internal/long"}, true}} {
		packages, err := r.builds.packages(t.Context(), suiteOf(test.tests))
		if err != nil || len(packages) != 1 || packages[0].long != test.long {
			t.Errorf("%q: %+v, want -long %v; %v", test.tests, packages, test.long, err)
		}
	}
	if left := len(r.builds.known); left != 1 { // of the unchanged code
		t.Errorf("%d builds are kept", left)
	}
}

// TestEachInOrder: outcomes come in the order of the values, and the first error ends the
// rest.
func TestEachInOrder(t *testing.T) {
	second := make(chan struct{})
	do := func(_ context.Context, n int) (int, error) {
		switch n {
		case 1:
			<-second
		case 2:
			close(second)
		case 4:
			return 0, errors.New("four")
		}
		return 10 * n, nil
	}
	var got []int
	err := each(t.Context(), 2, []int{1, 2, 3, 4, 5}, do, func(_, r int) { got = append(got, r) })
	if err == nil || err.Error() != "four" || !slices.Equal(got, []int{10, 20, 30}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestMutantsApply: each mutant finds its lines in the source once.
func TestMutantsApply(t *testing.T) {
	t.Chdir("../..")
	for _, m := range mutants {
		for _, e := range m.edits(true) {
			if err := e.apply(e.file, t.TempDir()+"/weak.go"); err != nil {
				t.Errorf("%s, %s: %v", m.rule, m.what, err)
			}
		}
	}
}

// TestMutantsNameTests: the packages of every row are there, and no flag is one that go test alone has.
func TestMutantsNameTests(t *testing.T) {
	t.Chdir("../..")
	seen := map[string]bool{}
	for _, m := range mutants {
		s := suiteOf(m.tests)
		for _, of := range s.packages {
			dir := filepath.Join(s.module, strings.TrimSuffix(of, "/..."))
			if files, err := os.ReadDir(dir); !seen[dir] && (err != nil || len(files) == 0) {
				t.Errorf("%s, %s: no package %s", m.rule, m.what, dir)
			}
			seen[dir] = true
		}
		for _, flag := range s.flags {
			if flag == "-timeout" {
				t.Errorf("%s, %s: the test program has no %s", m.rule, m.what, flag)
			}
		}
	}
}
