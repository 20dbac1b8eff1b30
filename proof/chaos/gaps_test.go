package chaos

import (
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/proof/chaos/history"
)

// gap is a time in which a holder that wanted IDs of its load got none.
type gap struct {
	who        string
	from, till time.Duration
	length     time.Duration // without the time for which the process itself was stopped
}

// longestGaps returns, for each run of a holder, the longest time from one batch of
// its load to the next, under one attachment. stopped tells how long within a time
// the process did not run because the test had stopped it.
func longestGaps(runs []holderRun, stopped func(holder string, from, till time.Duration) time.Duration) (all []gap) {
	for _, run := range runs {
		longest := gap{who: run.name}
		last := map[int]time.Duration{} // of each handle's last batch since its attach
		for _, op := range run.ops {
			switch {
			case !strings.HasPrefix(op.Name, "load-"):
				continue
			case op.Kind != history.Fill && op.Kind != history.Final:
				delete(last, op.Handle)
				continue
			case len(op.Runs) == 0:
				continue
			}
			if before, some := last[op.Handle]; some {
				g := gap{who: run.name, from: before, till: op.Return}
				g.length = g.till - g.from - stopped(run.holder, g.from, g.till)
				if g.length > longest.length {
					longest = g
				}
			}
			last[op.Handle] = op.Return
		}
		all = append(all, longest)
	}
	return all
}
