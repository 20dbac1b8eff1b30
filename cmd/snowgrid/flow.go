package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// A stream takes batchSize IDs one by one and pauses for batchRest: about a hundred
// thousand per second. A handle can do far more; this rate lets two cores generate,
// time and check all of them.
const (
	batchSize = 200
	batchRest = 2 * time.Millisecond
)

// flow is a demo's streams. Each takes IDs from one handle and passes every one to the checker.
type flow struct {
	checker *checker
	streams []*stream
	began   time.Time
	ended   time.Time
	longest atomic.Int64 // longest call of Next, ns
	running sync.WaitGroup
	ending  sync.Map // holders that may end their streams early
	errs    []error  // of each stream
}

type stream struct {
	checkedStream
	handle nexter
}

// nexter is the sequencer methods that a stream needs.
type nexter interface {
	Next(ctx context.Context) (sequencer.ID, error)
	Definition() sequencer.Definition
}

func newFlow() *flow {
	return &flow{checker: newChecker()}
}

// add adds a stream for a handle. All streams are added before run.
func (f *flow) add(holder string, handle nexter) {
	f.streams = append(f.streams, &stream{
		checkedStream: checkedStream{holder: holder, definition: handle.Definition()},
		handle:        handle,
	})
}

// run starts the streams, which end with ctx.
func (f *flow) run(ctx context.Context) {
	f.began, f.errs = time.Now(), make([]error, len(f.streams))
	for i, s := range f.streams {
		f.running.Go(func() {
			if err := f.pump(ctx, s); err != nil {
				f.errs[i] = fmt.Errorf("%s, %s: %w", s.definition.Name(), s.holder, err)
			}
		})
	}
}

// wait returns when every stream has ended, with the unexpected errors.
func (f *flow) wait() error {
	f.running.Wait()
	f.ended = time.Now()
	return errors.Join(f.errs...)
}

// expectEnd records that a holder's streams are about to end.
func (f *flow) expectEnd(holder string) { f.ending.Store(holder, true) }

// pump takes and checks the IDs of one stream until ctx ends.
func (f *flow) pump(ctx context.Context, s *stream) error {
	ids := make([]sequencer.ID, 0, batchSize)
	rest := time.NewTicker(batchRest)
	defer rest.Stop()
	for {
		ids = ids[:0]
		var err error
		for before := time.Now(); len(ids) < batchSize; {
			var id sequencer.ID
			id, err = s.handle.Next(ctx)
			after := time.Now()
			f.waited(after.Sub(before)) // also a call that ctx ended
			if err != nil {
				break
			}
			before = after
			ids = append(ids, id)
		}
		f.checker.observe(&s.checkedStream, ids)
		_, mayEnd := f.ending.Load(s.holder)
		switch {
		case ctx.Err() != nil, mayEnd && errors.Is(err, sequencer.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-rest.C:
		case <-ctx.Done():
		}
	}
}

// waited records the longest wait.
func (f *flow) waited(d time.Duration) {
	for longest := f.longest.Load(); int64(d) > longest; longest = f.longest.Load() {
		if f.longest.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// longestNext returns the longest duration of a Next call so far.
func (f *flow) longestNext() time.Duration {
	return time.Duration(f.longest.Load()).Round(10 * time.Microsecond)
}

func (f *flow) summary(v verdict) string {
	elapsed := f.ended.Sub(f.began)
	if f.began.IsZero() || f.ended.IsZero() {
		return "No IDs were issued."
	}
	return fmt.Sprintf("%s IDs in %.1fs (%s per second), %s, %d out of order, longest Next call %v.",
		grouped(v.ids), elapsed.Seconds(), grouped(uint64(float64(v.ids)/elapsed.Seconds())),
		counted(int(v.duplicates), "duplicate"), v.disorder, f.longestNext())
}

// examples returns an ID from each sequencer with its parts, a line each.
func (f *flow) examples() (lines []string) {
	shown := map[string]bool{}
	for _, s := range f.streams {
		name := s.definition.Name()
		if shown[name] || !s.started {
			continue
		}
		shown[name] = true
		parts := s.definition.Decompose(s.last)
		lines = append(lines, fmt.Sprintf("An ID of %s: %v is %s, logical node %d of %d (%s), counter %d.",
			name, s.last, parts.Time.Format(millisecondLayout), parts.Node, s.definition.Config().Nodes, s.holder,
			parts.Counter))
	}
	return lines
}

// waitExplained is the length of a call from which more than the machine's load is behind it.
const waitExplained = 100 * time.Millisecond

// perSequencer explains why two of the examples can be equal.
const perSequencer = "IDs are unique within a sequencer; two sequencers can issue the same one. "

// aboutLongest explains the longest call of Next, "" if there was none.
func (f *flow) aboutLongest() string {
	switch longest := f.longestNext(); {
	case longest == 0:
		return ""
	case longest < waitExplained:
		return perSequencer +
			"Next is a local call. The longest call waited for a processor, which all of the demo's members and " +
			"clients share."
	}
	return perSequencer +
		"Next is a local call while a grant lasts. The longest call waited for the new owner's grant to begin " +
		"above all earlier grants, or for a processor."
}
