package main

import (
	"context"
	"reflect"
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
		{"fails again", []verdict{fails}, []verdict{passes}, killed, []string{"with " + whole, "without " + one, "with " + one}},
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
			j := judge{run: s.run, baseline: map[string]verdict{}}
			v, err := j.verdict(t.Context(), mutant{file: "x.go", tests: strings.Fields(whole)})
			if err != nil || v.outcome != test.want || !reflect.DeepEqual(s.ran, test.ran) {
				t.Errorf("outcome %v, want %v, error %v, ran %q", v.outcome, test.want, err, s.ran)
			}
		})
	}
}

// TestUnchangedCodeRunsOncePerCommand: the baseline of a command is known after one
// run, and one that fails ends the sweep.
func TestUnchangedCodeRunsOncePerCommand(t *testing.T) {
	s := &script{with: []verdict{fails}, without: []verdict{passes}}
	j := judge{run: s.run, baseline: map[string]verdict{}}
	all := []mutant{{file: "x.go", tests: []string{"./x"}}, {file: "y.go", tests: []string{"./x"}}, {file: "z.go", tests: []string{"./z"}}}
	if err := j.checkUnchanged(t.Context(), all); err != nil || len(s.ran) != 2 {
		t.Errorf("ran %q, %v", s.ran, err)
	}
	for _, m := range all[:2] {
		if v, err := j.verdict(t.Context(), m); err != nil || v.outcome != killed {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if len(s.ran) != 2+3+2 { // the second kill knows how the test does without the mutant
		t.Errorf("ran %q", s.ran)
	}
	for _, v := range []verdict{fails, broken} {
		j = judge{run: (&script{without: []verdict{v}}).run, baseline: map[string]verdict{}}
		if err := j.checkUnchanged(t.Context(), all); err == nil {
			t.Errorf("a baseline of %+v passes", v)
		}
	}
}

func TestVerdictOfOutput(t *testing.T) {
	tests := []struct{ out, test, said string }{
		{"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        a_test.go:7: got 2\nFAIL\n", "TestA/b", "got 2"},
		{"panic: boom\n\ngoroutine 1\nrunning tests:\n\tTestC (3s)\n", "TestC", "panic: boom"},
		{"goleak: Errors on successful test run\nFAIL\tx\n", unknownTest, ""},
	}
	for _, test := range tests {
		if v := verdictOf(test.out); v != (verdict{killed, test.test, test.said}) {
			t.Errorf("%q is %+v", test.out, v)
		}
	}
	if got := alone([]string{"./x"}, unknownTest); !reflect.DeepEqual(got, []string{"./x"}) {
		t.Errorf("an unknown test alone: %q", got)
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
