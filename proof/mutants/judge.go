package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// judge decides whether a mutant is killed. A single failure proves little, because the test may be
// flaky. The failed test is therefore repeated alone: without the mutant it has to pass, and with
// it it has to fail again.
type judge struct {
	run func(ctx context.Context, m mutant, tests []string) (verdict, error)

	mu       sync.Mutex
	baseline map[string]func() (verdict, error) // for the unchanged code, by test command
}

func newJudge(run func(ctx context.Context, m mutant, tests []string) (verdict, error)) *judge {
	return &judge{run: run, baseline: map[string]func() (verdict, error){}}
}

// repeats is the maximum number of repetitions for a kill: a property that draws random values may
// miss a mutant in one run.
const repeats = 3

// unchanged runs a test command on the unchanged code, once per command.
func (j *judge) unchanged(ctx context.Context, command []string) (verdict, error) {
	key := strings.Join(command, " ")
	j.mu.Lock()
	run := j.baseline[key]
	if run == nil {
		run = sync.OnceValues(func() (verdict, error) { return j.run(ctx, mutant{}, command) })
		j.baseline[key] = run
	}
	j.mu.Unlock()
	return run()
}

// verdict runs a mutant's tests, and confirms a kill.
func (j *judge) verdict(ctx context.Context, m mutant) (verdict, error) {
	v, err := j.run(ctx, m, m.command())
	if err != nil || v.outcome != killed {
		return v, err
	}
	alone := alone(m.command(), v)
	if clean, err := j.unchanged(ctx, alone); err != nil {
		return verdict{}, err
	} else if clean.outcome != survived {
		v.outcome, v.said = flaky, "fails without the mutant too: "+clean.said
		return v, nil
	}
	for range repeats {
		again, err := j.run(ctx, m, alone)
		if err != nil {
			return verdict{}, err
		}
		if again.outcome == killed {
			return v, nil
		}
	}
	v.outcome, v.said = flaky, fmt.Sprintf("passed %d times with the mutant, after: %s", repeats, v.said)
	return v, nil
}

// alone returns a test command that runs only the test of a verdict. If -run is repeated, go test uses
// the last.
func alone(command []string, v verdict) []string {
	out := slices.Clone(command)
	if s := suiteOf(command); v.pkg != "" {
		first := slices.Index(command, s.packages[0])
		out = slices.Replace(out, first, first+len(s.packages), v.pkg)
	}
	if v.test == unknownTest {
		return out
	}
	levels := strings.Split(v.test, "/")
	for i, name := range levels {
		levels[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return append(out, "-run", strings.Join(levels, "/"))
}
