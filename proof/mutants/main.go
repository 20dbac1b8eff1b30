// Command mutants weakens the rules that unique IDs depend on, one line of the real code at a time,
// and runs the tests that should fail. A surviving mutant is a rule that no test guards.
//
//	go run -C proof ./mutants                    # each mutant against the tests next to its rule
//	go run -C proof ./mutants -rule O4           # only the rules that match a regular expression
//	go run -C proof ./mutants -only 'R9.*stream' # only mutants with a matching rule, text or file
//	go run -C proof ./mutants -list              # print the mutants and run nothing
//	go run -C proof ./mutants -j 2               # two concurrently
//	go run -C proof ./mutants -skip 300          # all but the first 300
//	go run -C proof ./mutants -in '^(internal/roster|backup|partition)/' -by '-C proof ./sim -run TestSeeds -seeds 80'
//
// A mutant is killed only by a test that passes on the unchanged code and fails again when it is
// repeated with the mutant: a flaky test kills nothing, and neither does a mutant that does not
// compile.
//
// The source is not changed: a mutant is compiled with go test -overlay. The command prints a
// Markdown table and exits with status 1 if a mutant survived that should have been killed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	rule = flag.String("rule", "", "run the mutants of rules that match this regular expression only, O4 for instance")
	only = flag.String("only", "", "run the mutants only whose \"rule text file\" matches this regular expression")
	list = flag.Bool("list", false, "print the chosen mutants and run nothing")
	in   = flag.String("in", "", "run the mutants of files whose path matches this regular expression only")
	by   = flag.String("by", "", "what to run in place of the tests beside each rule: arguments of go test")
	jobs = flag.Int("j", 1,
		"how many mutants are run beside each other; tests that depend on time may need a processor each")
	skip  = flag.Int("skip", 0, "leave out the first mutants, which an earlier run has finished")
	limit = flag.Duration("limit", 3*time.Minute,
		"how long the tests of one mutant may take; a mutant that hangs them is killed")
)

func main() {
	flag.Parse()
	if err := chdirToRoot(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen, err := choose(*rule, *in, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%s\t%s\t%s\n", m.rule, m.what, m.file)
		}
		return
	}
	t, err := sweep(ctx, chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	fmt.Printf("\n%d of %d mutants killed\n", t.killed, t.run)
	if t.amiss > 0 {
		os.Exit(1)
	}
}

// chdirToRoot changes to the root module's directory; the mutants' paths are relative to it. The
// program starts there or in a folder of the module proof.
func chdirToRoot() error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	dir := filepath.Dir(strings.TrimSpace(string(out)))
	if filepath.Base(dir) == "proof" {
		dir = filepath.Dir(dir)
	}
	return os.Chdir(dir)
}

// choose returns the mutants with a matching rule, file and text.
func choose(rules, files, texts string) ([]mutant, error) {
	rule, err := regexp.Compile("^(" + rules + ")")
	if err != nil {
		return nil, fmt.Errorf("-rule %q: %w", rules, err)
	}
	file, err := regexp.Compile(files)
	if err != nil {
		return nil, fmt.Errorf("-in %q: %w", files, err)
	}
	text, err := regexp.Compile(texts)
	if err != nil {
		return nil, fmt.Errorf("-only %q: %w", texts, err)
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return *by != "" && m.isExplored() || !rule.MatchString(m.rule) || !file.MatchString(m.file) ||
			!text.MatchString(m.rule+" "+m.what+" "+m.file)
	})
	if len(chosen) <= *skip {
		return nil, fmt.Errorf("-rule %q -in %q -only %q -skip %d: %d mutants match; -list prints them",
			rules, files, texts, *skip, len(chosen))
	}
	return chosen[max(*skip, 0):], nil
}

// tally counts the mutants: run, killed, and survived although they should have been killed.
type tally struct{ run, killed, amiss int }

// sweep runs mutants and prints a row for each.
func sweep(ctx context.Context, chosen []mutant) (t tally, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return t, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := runner{newBuilds(dir)}
	j := newJudge(r.run)
	fmt.Print("| rule | weakened | noticed by | what it said |\n|---|---|---|---|\n")
	judge := func(ctx context.Context, m mutant) (verdict, error) {
		if m.isEquivalent() {
			return verdict{}, nil
		}
		defer r.forget(m)
		v, err := j.verdict(ctx, m)
		if err != nil {
			err = fmt.Errorf("%s, %s: %w", m.rule, m.what, err)
		}
		return v, err
	}
	return t, each(ctx, *jobs, chosen, judge, t.print)
}

// print prints a mutant's row and counts it.
func (t *tally) print(m mutant, v verdict) {
	if m.isEquivalent() {
		fmt.Printf("| %s | %s | equivalent | %s |\n", m.rule, m.what, equivalents[m.what])
		return
	}
	t.run++
	switch {
	case v.outcome == killed:
		t.killed++
	case v.outcome != survived || *by == "" || m.unseen() == "":
		t.amiss++
	default:
		v.said = m.unseen()
	}
	fmt.Printf("| %s | %s | %s | %s |\n", m.rule, m.what, v.noticed(), cell(v.said))
}

// isEquivalent reports whether a mutant has no effect that a grid could reveal.
func (m mutant) isEquivalent() bool { return *by != "" && equivalents[m.what] != "" }

// unseen returns the reason why the simulation cannot kill a mutant, "" if it should.
func (m mutant) unseen() string {
	return unseen[m.what] + definitionsUnseen[m.what] + leaderUnseen[m.what] + sessionUnseen[m.what] + recordUnseen[m.what]
}

// noticed returns the verdict for the table's third column.
func (v verdict) noticed() string {
	switch v.outcome {
	case survived:
		return "**survived**"
	case unbuilt:
		return "**does not compile**"
	case flaky:
		return "**not by the flaky " + v.test + "**"
	default:
		return v.test
	}
}

// command returns the go test arguments for a mutant.
func (m mutant) command() []string {
	if *by != "" {
		return strings.Fields(*by)
	}
	return m.tests
}

// cell makes text fit a table cell.
func cell(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "/")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "..."
	}
	return s
}
