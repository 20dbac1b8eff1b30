package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// withoutEnded returns the sequencers whose IDs have not ended, and names the others, which no grid creates.
func withoutEnded(names []exportedName, to streams) []exportedName {
	return slices.DeleteFunc(names, func(e exportedName) bool {
		d, err := sequencer.Define(e.Name, e.request().Config())
		ended := err == nil && d.Exhausted().Before(time.Now())
		if ended {
			fmt.Fprintf(to.err, "%s is not restored, since its IDs ended at %s; use another name\n", shown(e.Name),
				moment(d.Exhausted()))
		}
		return ended
	})
}

// restorer restores a sequencer at the API address of its owner.
type restorer func(ctx context.Context, api string, name exportedName) error

// importNames restores sequencers at their owners, several at the same time.
func (c *importCommand) importNames(ctx context.Context, names []exportedName, restore restorer, to streams) error {
	ctx, err := c.reach(ctx)
	if err != nil {
		return err
	}
	owners := &ownerFinder{command: c, again: make(chan struct{}, 1)}
	if err := owners.refresh(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(withAccess(ctx, accessOf(ctx).keptAlive(importers)))
	defer cancel(nil)
	var next, done atomic.Int64
	var all sync.WaitGroup
	for range min(importers, len(names)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := owners.try(ctx, names[i], restore); err != nil {
					cancel(fmt.Errorf("%s: %w", shown(names[i].Name), err))
					return
				}
				done.Add(1)
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	for tick := time.NewTicker(progressPause); ; {
		select {
		case <-ended:
			tick.Stop()
			return context.Cause(ctx)
		case <-tick.C:
			fmt.Fprintf(to.err, "%d of %s\n", done.Load(), counted(len(names), "sequencer"))
		}
	}
}

// ownerFinder finds the members that own names.
type ownerFinder struct {
	command *importCommand
	status  atomic.Pointer[grid.Status]
	again   chan struct{} // holds a token while one refreshes
}

func (o *ownerFinder) refresh(ctx context.Context) error {
	status, _, err := fetchStatusInGrid(ctx, o.command.Addr)
	if err == nil {
		o.status.Store(&status)
	}
	return err
}

// api returns the address of the owner of a name, "" while it has none.
func (o *ownerFinder) api(name string) string {
	status := o.status.Load()
	owner := status.OwnerOf(name)
	for _, m := range status.Members {
		if m.Incarnation == owner {
			return m.API
		}
	}
	return ""
}

// try restores a sequencer at its owner. It tries again while the owner changes or is overloaded.
func (o *ownerFinder) try(ctx context.Context, name exportedName, restore restorer) error {
	for end := time.Now().Add(createTries); ; {
		err := o.once(ctx, name, restore)
		var unanswered *notAnsweredError
		again := errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, roster.ErrWrongOwner) ||
			errors.Is(err, wire.ErrOverloaded) || errors.As(err, &unanswered)
		if err == nil || !again || time.Now().After(end) {
			return err
		}
		if !signal.Sleep(ctx, waitPause) {
			return cmp.Or(context.Cause(ctx), err)
		}
		select {
		case o.again <- struct{}{}:
			_ = o.refresh(ctx) // else the owners stay, and the next try fails
			<-o.again
		default: // another one refreshes
		}
	}
}

func (o *ownerFinder) once(ctx context.Context, name exportedName, restore restorer) error {
	ctx, cancel := context.WithTimeout(ctx, o.command.Timeout)
	defer cancel()
	api := o.api(name.Name)
	if api == "" {
		return sequencer.ErrUnavailable
	}
	return restore(ctx, api, name)
}

func createName(ctx context.Context, api string, name exportedName) error {
	return postTo(ctx, api, "", wire.PathCreate, name.request(), &wire.SequencerResponse{})
}

// destroyedBut is createDestroyed. It also succeeds if a quota refuses the create of a sequencer that was restored and
// destroyed before.
func destroyedBut(restored map[string]exportedName) restorer {
	return func(ctx context.Context, api string, name exportedName) error {
		err := createDestroyed(ctx, api, name)
		if r, found := restored[name.Name]; found && r == name && errors.Is(err, errNotCreated) &&
			errors.Is(err, sequencer.ErrQuota) {
			return nil
		}
		return err
	}
}

// errNotCreated is matched by the error for a sequencer that was not created.
var errNotCreated = errors.New("not created")

// createDestroyed creates a sequencer, takes a grant, and destroys the sequencer. The grant ends after the export's
// time, so the grid refuses another definition with which exported IDs could repeat.
func createDestroyed(ctx context.Context, api string, name exportedName) error {
	in, created := name.request(), wire.SequencerResponse{}
	in.Attach = &wire.CreateAttach{Holder: "import"}
	_, _ = rand.Read(in.Attach.ID[:])
	if err := postTo(ctx, api, "", wire.PathCreate, in, &created); err != nil {
		return fmt.Errorf("%w: %w", errNotCreated, err)
	}
	if got := created.Attached; got == nil {
		return fmt.Errorf("%s granted no logical node; use the snowgrid command of the grid's release", api)
	} else if got.Error != nil {
		return got.Error.Unwire()
	}
	return postTo(ctx, api, "", wire.PathDestroy, wire.DestroyRequest{Name: name.Name, Life: created.Sequencer.Life},
		&wire.Done{})
}
