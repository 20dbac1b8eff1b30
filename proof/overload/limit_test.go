//go:build linux

package overload_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/snowgrid/snowgrid/internal/calls"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/sequencer"
)

var (
	limitStep = flag.Int("limit-step", 0,
		"holders that TestLimit adds in each step, in two processes; 0 = it is skipped")
	limitSteps   = flag.Int("limit-steps", 8, "its steps at most")
	limitAttach  = flag.Duration("limit-attach", time.Minute, "within which all holders of a step have to be attached")
	limitHolders = flag.Int("limit-holders", 10_000, "holders at which no bound may break yet")
)

// limit is one bound that holds while a machine has enough of everything.
type limit struct {
	what         string
	value, bound float64
	unit         string
}

// TestLimit adds holders to three agents on this machine until a bound breaks, and names it: holders wait
// long until they are attached, a renewal fails, a handle issues no IDs, the first ID of a new name takes
// long, or a holder takes much memory. The processors are not a bound of their own. How much of them was
// taken meanwhile says whether they are the reason.
func TestLimit(t *testing.T) {
	if *limitStep == 0 {
		t.Skip("it takes all of this machine for minutes: make proof-limit")
	}
	const ids = 20
	kilobytes := 40.0
	if *secure {
		kilobytes = 80
	}
	secured := credentials(t)
	members := startAgents(t, 3, secured)
	awaitReady(t, members)
	empty := memoryOf(t, members)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.api)
	}
	var all holderProcesses
	for step := 1; step <= *limitSteps; step++ {
		holders := *limitStep * step
		began, idle := time.Now(), idleTime(t)
		more := startHolders(t, 2, holderConfig{Addrs: addrs, Secured: secured, Holders: *limitStep / 2})
		all = append(all, more...)
		limits := []limit{{"attach of the last step's holders", math.Inf(1), limitAttach.Seconds(), " s"}}
		if more.answer(t, *limitAttach) {
			limits[0].value = time.Since(began).Seconds()
			time.Sleep(*window)
			before := all.look(t)
			took := firstIDs(t, addrs, secured, step, ids)
			time.Sleep(*window)
			after, at := all.look(t), memoryOf(t, members)
			each := float64(after.Heap+after.Stacks+at.heap+at.stacks-empty.heap-empty.stacks) / float64(after.Handles) / 1000
			limits = append(limits,
				limit{"renewals that failed", float64(after.Failed - before.Failed), 0, ""},
				limit{"handles that issue no IDs", float64(after.Handles - after.Issuing), 0, ""},
				limit{"first ID of a new name, median", took[ids/2].Seconds(), 0.3, " s"},
				limit{"first ID of a new name, longest", took[ids-1].Seconds(), 0.6, " s"},
				limit{"heap and stacks of a holder at both ends", each, kilobytes, " kB"})
			t.Logf("%d holders, %.0f renewals/s", holders, float64(after.Renewed-before.Renewed)/window.Seconds())
		}
		busy := 1 - (idleTime(t)-idle)/(time.Since(began).Seconds()*float64(runtime.NumCPU()))
		t.Logf("%d holders, processors %.0f %% taken: %v", holders, 100*busy, limits)
		if name, broken := firstBroken(limits); broken {
			t.Logf("RESULT limit of %d cores: %d holders in %d processes, window %v: %s, while %.0f %% of the processors was "+
				"taken", runtime.NumCPU(), holders, len(all), *window, name, 100*busy)
			if holders <= *limitHolders {
				t.Errorf("a bound breaks at %d holders", holders)
			}
			return
		}
	}
	t.Logf("RESULT limit of %d cores: none up to %d holders", runtime.NumCPU(), *limitStep**limitSteps)
}

// idleTime is for how many seconds all processors of this machine together had nothing to do since its start.
func idleTime(t *testing.T) float64 {
	t.Helper()
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	now, err := proc.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return now.CPUTotal.Idle + now.CPUTotal.Iowait
}

// firstBroken names the first bound that does not hold.
func firstBroken(limits []limit) (name string, broken bool) {
	for _, l := range limits {
		if l.value > l.bound {
			return l.String(), true
		}
	}
	return "", false
}

// String is "what value of bound".
func (l limit) String() string {
	return fmt.Sprintf("%s %.4g%s (bound %v%s)", l.what, l.value, l.unit, l.bound, l.unit)
}

// TestFirstBrokenBound: a value at its bound holds.
func TestFirstBrokenBound(t *testing.T) {
	if name, broken := firstBroken([]limit{{"a", 1, 1, ""}, {"b", 2, 1, " s"}, {"c", 2, 1, ""}}); !broken ||
		name != "b 2 s (bound 1 s)" {
		t.Errorf("%v %q", broken, name)
	}
	if name, broken := firstBroken([]limit{{"a", 0, 0, ""}}); broken {
		t.Errorf("%q", name)
	}
}

// firstIDs returns how long a new client waits for the first IDs of n new names, ascending.
func firstIDs(t *testing.T, addrs []string, secured string, step, n int) (took []time.Duration) {
	t.Helper()
	u := &users{secured: secured}
	u.issue(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	http := calls.NewPool(calls.TCP, u.credentials(0))
	defer http.Close()
	c, err := client.Dial(ctx, calls.With(client.Config{Addrs: addrs}, calls.Parts{Transport: http}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for i := range n {
		began := time.Now()
		h, err := c.CreateSequencer(ctx, fmt.Sprintf("limit-%d-%d", step, i), sequencer.Config{})
		if err == nil {
			_, err = h.Next(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}
