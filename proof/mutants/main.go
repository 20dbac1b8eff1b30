// Command mutants weakens the rules that unique IDs rest on, one line of the real
// code at a time, and runs the tests that should notice. A mutant that survives is
// a rule that no test guards.
//
//	go run ./proof/mutants            # each mutant against the tests beside its rule
//	go run ./proof/mutants -rule O4   # only those of some rules, by a regular expression
//	go run ./proof/mutants -in '^(partition|backup|owner)/' -by './proof/sim -run TestSeeds -seeds 80'
//
// The source is not touched: a mutant is compiled by way of go test -overlay. It
// prints a Markdown table and ends with status 1 if a mutant survived that should not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	rule  = flag.String("rule", "", "run the mutants of rules that match this regular expression only, O4 for instance")
	in    = flag.String("in", "", "run the mutants of files whose path matches this regular expression only")
	by    = flag.String("by", "", "what to run in place of the tests beside each rule: arguments of go test")
	limit = flag.Duration("limit", 3*time.Minute, "how long the tests of one mutant may take; a mutant that hangs them is killed")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen, err := choose(*rule, *in)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
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

// choose returns the mutants of the rules and files that match.
func choose(rules, files string) ([]mutant, error) {
	rule, err := regexp.Compile("^(" + rules + ")")
	if err != nil {
		return nil, fmt.Errorf("-rule %q: %w", rules, err)
	}
	file, err := regexp.Compile(files)
	if err != nil {
		return nil, fmt.Errorf("-in %q: %w", files, err)
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !rule.MatchString(m.rule) || !file.MatchString(m.file)
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-rule %q -in %q: no mutant matches", rules, files)
	}
	return chosen, nil
}

// tally is how many mutants were run and killed, and how many more should have been.
type tally struct{ run, killed, amiss int }

// sweep runs mutants and prints a row for each.
func sweep(ctx context.Context, chosen []mutant) (t tally, err error) {
	if err := clean(ctx, chosen); err != nil {
		return t, err
	}
	fmt.Print("| rule | weakened | noticed by | what it said |\n|---|---|---|---|\n")
	for _, m := range chosen {
		if why, same := equivalents[m.what]; same && *by != "" {
			fmt.Printf("| %s | %s | equivalent | %s |\n", m.rule, m.what, why)
			continue
		}
		v, err := m.run(ctx, m.command())
		if err != nil {
			return t, fmt.Errorf("%s, %s: %w", m.rule, m.what, err)
		}
		t.run++
		switch {
		case v.killed:
			t.killed++
		case *by == "" || unseen[m.what] == "":
			t.amiss++
		default:
			v.said = unseen[m.what]
		}
		fmt.Printf("| %s | %s | %s | %s |\n", m.rule, m.what, v.test, cell(v.said))
	}
	return t, nil
}

// clean runs what the mutants are run against once without any: a test that fails
// anyway would kill everything.
func clean(ctx context.Context, chosen []mutant) error {
	ran := map[string]bool{}
	for _, m := range chosen {
		c := m.command()
		if key := strings.Join(c, " "); !ran[key] {
			ran[key] = true
			if v, err := (mutant{}).run(ctx, c); err != nil || v.killed {
				return fmt.Errorf("go test %s fails without any mutant: %s: %s: %w", key, v.test, v.said, err)
			}
		}
	}
	return nil
}

// command is what a mutant is run against.
func (m mutant) command() []string {
	if *by != "" {
		return strings.Fields(*by)
	}
	return m.tests
}

// cell makes text fit a cell of a table.
func cell(s string) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "/")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "..."
	}
	return s
}
