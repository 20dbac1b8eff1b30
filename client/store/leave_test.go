package store

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

// TestLeaveEndsWithTheGrants: while the store is away, Leave with a context that does not end waits until
// no grant is left, and no longer. Combinations of Leave and Close return, too.
func TestLeaveEndsWithTheGrants(t *testing.T) {
	leave := func(c *Client) error { return c.Leave(context.Background()) }
	for name, ends := range map[string][]func(*Client) error{
		"leave": {leave}, "leave twice": {leave, leave}, "leave and close": {leave, (*Client).Close},
		"close and leave": {(*Client).Close, leave},
	} {
		for _, after := range []time.Duration{0, 2 * time.Second, time.Minute} {
			for _, silent := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " after ", after, ", silent: ", silent), func(t *testing.T) {
					inBubble(t, func(b *bench) {
						s, away := switchable()
						refuse := s.before
						s.setBefore(func(ctx context.Context, call, key string) error {
							if silent && away.Load() {
								<-ctx.Done()
								return ctx.Err()
							}
							return refuse(ctx, call, key)
						})
						b.store = s
						c := b.client()
						b.create(c)
						away.Store(true)
						time.Sleep(after)
						began := time.Now()
						var all sync.WaitGroup
						for _, end := range ends {
							all.Go(func() {
								if err := end(c); err != nil && (!errors.Is(err, sequencer.ErrUnavailable) &&
									!errors.Is(err, sequencer.ErrClosed) || errors.Is(err, context.DeadlineExceeded)) {
									b.Error(err)
								}
							})
							time.Sleep(time.Millisecond)
						}
						all.Wait()
						if took, most := time.Since(began), c.cfg.Window+100*time.Millisecond; took > most ||
							after > c.cfg.Window && took > 1100*time.Millisecond {
							b.Errorf("took %v", took)
						}
					})
				})
			}
		}
	}
}

// TestLeaveNamesTheStoresError: a leave that ends while the store is away names the store's error, also if the handle's
// own attach is in progress.
func TestLeaveNamesTheStoresError(t *testing.T) {
	for _, after := range []time.Duration{0, 2 * time.Second, time.Minute} {
		for _, silent := range []bool{false, true} {
			t.Run(fmt.Sprint("after ", after, ", silent: ", silent), func(t *testing.T) {
				inBubble(t, func(b *bench) {
					s, away := switchable()
					refuse := s.before
					s.setBefore(func(ctx context.Context, call, key string) error {
						if silent && away.Load() {
							<-ctx.Done()
							return fmt.Errorf("no answer: %w", ctx.Err())
						}
						return refuse(ctx, call, key)
					})
					b.store = s
					c := b.client()
					b.create(c)
					away.Store(true)
					time.Sleep(after)
					ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
					defer cancel()
					err := c.Leave(ctx)
					if named := func(text string) bool { return strings.Contains(err.Error(), text) }; err != nil &&
						!named(errAway.Error()) && !named("no answer") && !named("the store did not complete it in time") {
						b.Errorf("no error of the store: %v", err)
					}
				})
			})
		}
	}
}
