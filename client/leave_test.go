package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

var errNobody = fmt.Errorf("%w: connection refused", sequencer.ErrUnavailable)

// away has no call arrive any longer.
func (f *fake) away() {
	f.hook(func(context.Context, string, string, any) error { return errNobody })
}

// silent has calls wait for an answer that does not come.
func (f *fake) silent() {
	f.hook(func(ctx context.Context, _, _ string, _ any) error { <-ctx.Done(); return ctx.Err() })
}

// TestLeaveEndsWithTheGrants: without answers, Leave with a context that does not end waits until no
// grant is left, and no longer.
func TestLeaveEndsWithTheGrants(t *testing.T) {
	for name, cut := range map[string]func(*fake){"refused": (*fake).away, "silent": (*fake).silent} {
		for _, after := range []time.Duration{0, 5 * time.Second, time.Minute} {
			t.Run(fmt.Sprint(name, " for ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFake()
					c := f.dial(t)
					h, _ := create(t, c, "orders"), create(t, c, "users")
					cut(f)
					time.Sleep(after)
					left, began := time.Until(h.Stats().GrantUntil.Add(-f.ahead())), time.Now()
					err := c.Leave(context.Background())
					took := time.Since(began)
					if most := max(left, time.Second) + 100*time.Millisecond; took > most || took > f.window.Duration() {
						t.Errorf("took %v, want %v at most", took, most)
					}
					if !errors.Is(err, sequencer.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					if _, err := h.Next(t.Context()); !errors.Is(err, sequencer.ErrClosed) {
						t.Error("after it:", err)
					}
				})
			})
		}
	}
}

// ahead is how far the grid's time is ahead of the bubble's.
func (f *fake) ahead() time.Duration { return time.Until(f.now().Time()) }

// TestEndsTogether: Leave and Close return in any combination, from any goroutine, whether members
// answer or not. The first result of Leave is nil only if it was not interrupted.
func TestEndsTogether(t *testing.T) {
	type end func(*Client) error
	leave := func(c *Client) error { return c.Leave(context.Background()) }
	brief := func(c *Client) error {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		return c.Leave(ctx)
	}
	for name, ends := range map[string][]end{
		"leave twice": {leave, leave}, "leave and close": {leave, (*Client).Close},
		"close and leave":       {(*Client).Close, leave},
		"brief leave and leave": {brief, leave}, "all": {leave, brief, (*Client).Close, leave, (*Client).Close},
	} {
		for grid, cut := range map[string]func(*fake){"answers": func(*fake) {}, "refuses": (*fake).away,
			"is silent": (*fake).silent} {
			for _, pause := range []time.Duration{0, time.Millisecond, 200 * time.Millisecond} {
				t.Run(fmt.Sprint(name, " after ", pause, ", the grid ", grid), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := newFake()
						c := f.dial(t)
						create(t, c, "orders")
						cut(f)
						began := time.Now()
						var all sync.WaitGroup
						for _, e := range ends {
							all.Go(func() {
								if err := e(c); err != nil && !errors.Is(err, sequencer.ErrUnavailable) &&
									!errors.Is(err, sequencer.ErrClosed) {
									t.Error(err)
								}
							})
							time.Sleep(pause)
						}
						all.Wait()
						if took := time.Since(began); took > f.window.Duration()+time.Second {
							t.Errorf("took %v", took)
						}
					})
				})
			}
		}
	}
}
