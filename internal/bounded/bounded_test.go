package bounded

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDo: a call that returns in time has its result, also shortly after the end of its context.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls
		failed := errors.New("failed")
		for _, takes := range []time.Duration{0, time.Second, time.Second + Patience - 1} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			got, err := Do(ctx, &calls, "read", func(context.Context) (int, error) { time.Sleep(takes); return 7, failed })
			cancel()
			if got != 7 || !errors.Is(err, failed) {
				t.Errorf("a call of %v: %d, %v", takes, got, err)
			}
		}
	})
}

// TestHangs: callers of calls that hang continue, the number of such calls is limited, and calls are made again when
// they have returned.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls
		open := make(chan struct{})
		var began atomic.Int64
		hang := func(context.Context) (int, error) { began.Add(1); <-open; return 0, nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range LeftMax - 1 {
			if _, err := Do(ctx, &calls, "read", hang); !errors.Is(err, ErrHangs) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a call that hangs: %v", err)
			}
		}
		waits := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		if _, err := Do(ctx, new(Calls), "read", waits); errors.Is(err, ErrHangs) {
			t.Errorf("a call that ends with its context: %v", err)
		}
		if _, err := Do(ctx, &calls, "read", waits); !errors.Is(err, ErrHangs) {
			t.Errorf("a call that waits behind others that hang: %v", err)
		}
		_, _ = Do(ctx, &calls, "read", hang)
		before := time.Now()
		_, err := Do(t.Context(), &calls, "read", hang)
		if n := began.Load(); !errors.Is(err, ErrHangs) || n != LeftMax || time.Since(before) > 0 {
			t.Errorf("a call beyond the limit: %v after %v, %d calls began", err, time.Since(before), n)
		}
		close(open)
		synctest.Wait()
		got, err := Do(t.Context(), &calls, "read", func(context.Context) (int, error) { return 7, nil })
		if got != 7 || err != nil {
			t.Errorf("a call after the end of the others: %d, %v", got, err)
		}
	})
}

// TestEnd: the end of a process waits for its work in order, and not for work that hangs.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		for _, c := range []struct {
			takes time.Duration
			want  error
		}{{0, failed}, {3 * time.Second, failed}, {time.Hour, ErrHangs}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			err := End(ctx, 5*time.Second, func() error { time.Sleep(c.takes); return failed })
			cancel()
			if took := time.Since(began); !errors.Is(err, c.want) || took != min(c.takes, 6*time.Second) {
				t.Errorf("work of %v: %v after %v", c.takes, err, took)
			}
		}
		time.Sleep(time.Hour) // the bubble ends with its last goroutine
	})
}
