package main

import (
	"context"
	"sync"
)

// each calls do for all values, up to at concurrently, and then done with each outcome, in the
// values' order. The first error ends it.
func each[V, R any](ctx context.Context, at int, values []V, do func(context.Context, V) (R, error),
	done func(V, R)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type outcome struct {
		result R
		err    error
	}
	outcomes := make([]chan outcome, len(values))
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	next := make(chan int)
	for range max(at, 1) {
		wg.Go(func() {
			for i := range next {
				r, err := do(ctx, values[i])
				outcomes[i] <- outcome{r, err}
			}
		})
	}
	wg.Go(func() {
		defer close(next)
		for i := range values {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	})
	for i, v := range values {
		select {
		case o := <-outcomes[i]:
			if o.err != nil {
				cancel(o.err)
				return o.err
			}
			done(v, o.result)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
