package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mutant weakens one rule: new replaces old in a file.
type mutant struct {
	rule, what string
	file       string
	old, new   string
	tests      []string // go test arguments for the tests that guard the rule; -C and a folder first for a nested module
}

// edit weakens one line.
type edit struct{ file, old, new string }

// edits returns the edits: for a whole grid, or for the tests next to the rule.
func (m mutant) edits(whole bool) []edit {
	if m.file == "" {
		return nil
	}
	out := []edit{{m.file, m.old, m.new}}
	if whole || m.isExplored() {
		out = append(out, secondLines[m.what]...)
	}
	return out
}

// outcome is the result of a mutant's tests.
type outcome int

const (
	survived outcome = iota // every test passed
	killed                  // a test failed
	unbuilt                 // the mutant does not compile
	flaky                   // a test failed that also fails without the mutant, or does not fail again with it
)

// verdict is a mutant's outcome and the test that decided it.
type verdict struct {
	outcome outcome
	pkg     string // the test's package
	test    string // the first that failed, unknownTest if the output does not name it
	said    string
}

// unknownTest stands for a failure that the output attributes to no test.
const unknownTest = "?"

// runner runs mutants' tests.
type runner struct{ builds *builds }

// run tests a mutant; the zero mutant is the unchanged code.
func (r runner) run(ctx context.Context, m mutant, tests []string) (verdict, error) {
	s := suiteOf(tests)
	packages, err := r.builds.packages(ctx, s)
	for _, of := range packages {
		var p program
		if p, err = r.builds.program(ctx, s, of, m.edits(*by != "")); err != nil {
			break
		}
		var v verdict
		if v, err = p.run(ctx, s.flags); err != nil || v.outcome != survived {
			v.pkg = of.path
			return v, err
		}
	}
	if text := unbuiltError(""); errors.As(err, &text) {
		return verdict{outcome: unbuilt, said: string(text)}, nil
	}
	return verdict{}, err
}

// forget removes a mutant's test programs.
func (r runner) forget(m mutant) {
	r.builds.forget(suiteOf(m.command()), m.edits(*by != ""))
}

// run runs a test program as go test does, with the long tests: some rules have no other tests.
func (p program) run(ctx context.Context, flags []string) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, *limit+time.Minute) // a program that hangs ends itself at the limit
	defer cancel()
	args := []string{"-test.paniconexit0", "-test.count=1", "-test.failfast", "-test.timeout=" + limit.String()}
	if p.long && !slices.Contains(flags, "-test.short") {
		args = append(args, "-long")
	}
	cmd := exec.CommandContext(ctx, p.file, slices.Concat(args, flags)...)
	cmd.Dir = p.dir
	cmd.WaitDelay = time.Second // processes that it started may still have its output open
	// Properties draw new values in each run, and write no file that a later run would try first.
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return verdict{}, errors.Join(err, ctx.Err())
	}
	if err == nil {
		return verdict{}, nil
	}
	return verdictOf(string(out)), nil
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	panics = regexp.MustCompile(`(?m)^(panic|fatal error): .*`)
	runs   = regexp.MustCompile(`running tests:\s+(\S+)`)
	says   = regexp.MustCompile(`(?m)^\s+\S+_test\.go:\d+: (.*(?:\n\s{8,}.*)?)`)
)

// verdictOf reads the output of a failed go test.
func verdictOf(out string) verdict {
	v := verdict{outcome: killed, test: unknownTest}
	if all := failed.FindAllStringSubmatch(out, -1); len(all) > 0 {
		v.test = all[len(all)-1][1] // the innermost of the first
		for _, one := range all {
			if strings.HasPrefix(one[1], all[0][1]) {
				v.test = one[1]
			}
		}
	}
	if p := panics.FindString(out); p != "" {
		v.said = p
		if running := runs.FindStringSubmatch(out); v.test == unknownTest && running != nil {
			v.test = running[1]
		}
		return v
	}
	if s := says.FindStringSubmatch(out); s != nil {
		v.said = s[1]
	}
	return v
}
