package grid

import (
	"context"
	"fmt"
	"runtime"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Sets and numbers are part of the roster, which has room for a fixed number. Holders do not get
// all of it: holders with a name limit have a share among the sets that match their names, and
// other holders leave the rest to members and admins.
const (
	limitedSets    = numbers.MaxSets / 8
	limitedNumbers = numbers.MaxNumbered / 8
	holdersSets    = numbers.MaxSets * 3 / 4
	holdersNumbers = numbers.MaxNumbered * 3 / 4

	// Each step of a set is a log entry. The leader takes numberSteps per second from one
	// credential, times its processors, and numberStepsAtOnce in a burst.
	numberSteps       = 25
	numberStepsAtOnce = 1000
)

// numberShares admits steps of sets according to their callers' shares.
type numberShares struct {
	turns  *host.Turns
	newSet chan struct{} // holds the step that makes a new set
}

func newNumberShares() *numberShares {
	return &numberShares{newSet: make(chan struct{}, 1), turns: host.NewTurns(numberSteps*runtime.GOMAXPROCS(0),
		numberStepsAtOnce, func(peer partition.Peer, rate int) string {
			return fmt.Sprintf("%s changes more identity numbers than the %d per second that the leader changes for one "+
				"certificate or token", peer, rate)
		})}
}

// enter admits a caller's step, until end. A step that changes nothing, such as a sign of life, is
// always admitted; so is a step that the roster rejects, with the roster's own error.
func (n *numberShares) enter(ctx context.Context, s *state.State, c numbers.Command) (end func(), err error) {
	end = func() {}
	p := api.PeerOf(ctx)
	if p.ID == "" || p.Role != security.Holder {
		return end, nil
	}
	before, after, changed := stepOf(s, c)
	if !changed {
		return end, nil
	}
	if len(after.Sets) > len(before.Sets) { // one at a time, so that each counts the sets before it
		select {
		case n.newSet <- struct{}{}:
			end = func() { <-n.newSet }
		case <-ctx.Done():
			return end, failure.Errorf(sequencer.ErrUnavailable, "grid: the step of %s/%s waits for others: %w", c.Cluster,
				c.Name, ctx.Err())
		}
		before, after, _ = stepOf(s, c)
	}
	if err = checkShare(p, before, after, c); err == nil {
		err = n.turns.Take(ctx, partition.Peer(p.ID))
	}
	if err != nil {
		end()
		return func() {}, err
	}
	return end, nil
}

// stepOf returns the registry, and the registry after a step, unless that is refused or changes
// nothing.
func stepOf(s *state.State, c numbers.Command) (before, after numbers.Registry, changed bool) {
	before = s.Roster().Registry
	after, changed, _ = before.Apply(c)
	return before, after, changed
}

// checkShare refuses a step that gives a holder more sets or numbers than its share.
func checkShare(p security.Peer, before, after numbers.Registry, c numbers.Command) error {
	hadSets, hadNumbers := usedBy(p, before)
	sets, numbers := usedBy(p, after)
	mostSets, mostNumbers := holdersSets, holdersNumbers
	if len(p.Names) > 0 {
		mostSets, mostNumbers = limitedSets, limitedNumbers
	}
	switch {
	case sets > hadSets && sets > mostSets:
		return failure.Errorf(sequencer.ErrQuota,
			"grid: set %s/%s: the caller already has %d sets, and its role's limit is %d; use one of them, or have an admin "+
				"drop one (snowgrid identity drop)", c.Cluster, c.Name, hadSets, mostSets)
	case numbers > hadNumbers && numbers > mostNumbers:
		return failure.Errorf(sequencer.ErrQuota,
			"grid: set %s/%s: the caller's sets already have %d numbers, and its role's limit is %d; have an admin remove the "+
				"numbers of ended processes (snowgrid identity clean)", c.Cluster, c.Name, hadNumbers, mostNumbers)
	}
	return nil
}

// usedBy counts the sets that a caller may use, and their numbers.
func usedBy(p security.Peer, r numbers.Registry) (sets, numbers int) {
	for _, s := range r.Sets {
		if p.MayUse(s.Name) {
			sets++
			numbers += len(s.Members)
		}
	}
	return sets, numbers
}
