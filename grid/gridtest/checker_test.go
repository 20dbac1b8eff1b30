package gridtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// checker records every ID of a scenario with who made it. No two IDs of one
// name may be equal, in all the lives that the name has, and those of one caller
// have to ascend.
type checker struct {
	tb      testing.TB
	mu      sync.Mutex
	issued  map[string]map[sequencer.ID]string // by name
	longest map[string]time.Duration           // call of Next, by caller's label
}

func newChecker(tb testing.TB) *checker {
	return &checker{tb: tb, issued: map[string]map[sequencer.ID]string{}, longest: map[string]time.Duration{}}
}

// count returns how many IDs were recorded.
func (c *checker) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, ids := range c.issued {
		n += len(ids)
	}
	return n
}

// wait returns the duration of the longest call of Next of callers whose labels have this
// prefix, and resets all.
func (c *checker) wait(label string) (longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l, d := range c.longest {
		if strings.HasPrefix(l, label) {
			longest = max(longest, d)
		}
	}
	clear(c.longest)
	return longest
}

// caller is one goroutine that makes IDs of one name.
type caller struct {
	c     *checker
	label string
	last  sequencer.ID
}

func (c *checker) caller(label string) *caller { return &caller{c: c, label: label} }

// next takes one ID, recorded and checked.
func (l *caller) next(ctx context.Context, s *sequencer.Sequencer) (sequencer.ID, error) {
	began := time.Now()
	id, err := s.Next(ctx)
	l.note(s, time.Since(began), err, id)
	return id, err
}

// note checks the result of a call.
func (l *caller) note(s *sequencer.Sequencer, took time.Duration, err error, ids ...sequencer.ID) {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest[l.label] = max(c.longest[l.label], took)
	if err != nil {
		return
	}
	l.noteLocked(s.Name(), ids...)
}

// noteID records and checks an ID of a name.
func (l *caller) noteID(name string, id sequencer.ID) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.noteLocked(name, id)
}

func (l *caller) noteLocked(name string, ids ...sequencer.ID) {
	c := l.c
	if c.issued[name] == nil {
		c.issued[name] = map[sequencer.ID]string{}
	}
	for _, id := range ids {
		if by, twice := c.issued[name][id]; twice {
			c.tb.Errorf("%s: ID %d of %s was issued before to %s", name, id, l.label, by)
		}
		if id <= l.last {
			c.tb.Errorf("%s: ID %d of %s does not ascend from %d", name, id, l.label, l.last)
		}
		c.issued[name][id], l.last = l.label, id
	}
}

// must takes n IDs and fails the test if it cannot.
func (l *caller) must(s *sequencer.Sequencer, n int) sequencer.ID {
	l.c.tb.Helper()
	for range n {
		if _, err := l.next(l.c.tb.Context(), s); err != nil {
			l.c.tb.Fatalf("%s: %v", l.label, err)
		}
	}
	return l.last
}

// load is callers that take IDs until they are stopped.
type load struct {
	c      *checker
	ctx    context.Context // ends with the load
	cancel context.CancelFunc
	done   sync.WaitGroup
	pause  time.Duration
}

func (c *checker) load(pause time.Duration) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{c: c, ctx: ctx, cancel: cancel, pause: pause}
	c.tb.Cleanup(l.stop)
	return l
}

// run takes a few IDs, and again after each pause. An error ends it, and fails
// the test unless the load was stopped or the error is one of those allowed.
func (l *load) run(label string, s *sequencer.Sequencer, allowed ...error) {
	caller := l.c.caller(label)
	l.done.Go(func() {
		for l.ctx.Err() == nil {
			for range 3 {
				if _, err := caller.next(l.ctx, s); err != nil {
					if l.ctx.Err() == nil && !matches(err, allowed) {
						l.c.tb.Errorf("%s: %v", label, err)
					}
					return
				}
			}
			time.Sleep(l.pause)
		}
	})
}

// stop ends the load and waits until all of it has ended.
func (l *load) stop() {
	l.cancel()
	l.done.Wait()
}

func matches(err error, sentinels []error) bool {
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// eventually waits until ok holds, and fails the test after limit.
func eventually(tb testing.TB, limit time.Duration, what string, ok func() bool) time.Duration {
	tb.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			tb.Fatalf("not within %v: %s", limit, what)
		}
		if time.Since(began) < time.Second {
			time.Sleep(10 * time.Millisecond)
		} else { // a look costs more than a grid that waits
			time.Sleep(50 * time.Millisecond)
		}
	}
	return time.Since(began)
}

// want fails the test unless err matches every sentinel.
func want(tb testing.TB, what string, err error, sentinels ...error) {
	tb.Helper()
	for _, s := range sentinels {
		if !errors.Is(err, s) {
			tb.Errorf("%s: got %v, want %v", what, err, s)
		}
	}
}

// ok ends the test if err is not nil.
func ok(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// within returns a context that ends after d.
func within(tb testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	tb.Cleanup(cancel)
	return ctx
}

// creator is a member or a client.
type creator interface {
	CreateSequencer(ctx context.Context, name string, cfg sequencer.Config) (*sequencer.Sequencer, error)
	OpenSequencer(ctx context.Context, name string) (*sequencer.Sequencer, error)
	DestroySequencer(ctx context.Context, name string) error
}

// create returns an attached handle.
func create(tb testing.TB, from creator, name string, nodes int) *sequencer.Sequencer {
	tb.Helper()
	s, err := from.CreateSequencer(within(tb, time.Minute), name, sequencer.Config{Nodes: nodes})
	ok(tb, fmt.Sprintf("create %q", name), err)
	return s
}

// states returns the states of handles, as text.
func states(handles []*sequencer.Sequencer) string {
	text := ""
	for _, s := range handles {
		text += s.State().String() + " "
	}
	return text
}
