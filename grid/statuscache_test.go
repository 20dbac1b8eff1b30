package grid

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// TestStatusIsShared: requests that wait together share a status, and none is from before its request.
func TestStatusIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cost = 50 * time.Millisecond
		l, gathered := newStatusCache(), 0
		ask := func() {
			asked := time.Now()
			s, err := l.status(t.Context(), func() Status {
				gathered++
				began := time.Now()
				time.Sleep(cost)
				return Status{Answering: began.Format(time.RFC3339Nano)}
			})
			began, _ := time.Parse(time.RFC3339Nano, s.Answering)
			if err != nil || began.Before(asked) {
				t.Errorf("asked at %v: a status of %v, error %v", asked, began, err)
			}
		}
		for range 3 {
			ask()
		}
		if gathered != 3 {
			t.Errorf("gathered %d times for 3 requests in turn, want 3", gathered)
		}
		gathered = 0
		var wg sync.WaitGroup
		for range 4 {
			for range 48 {
				wg.Go(ask)
			}
			time.Sleep(cost / 4)
		}
		wg.Wait()
		if gathered != 2 {
			t.Errorf("gathered %d times for 192 requests during one, want 2", gathered)
		}
		ctx, cancel := context.WithTimeout(t.Context(), cost/2)
		defer cancel()
		wg.Go(ask)
		synctest.Wait()
		wg.Go(ask)
		synctest.Wait()
		if _, err := l.status(ctx, func() Status { return Status{} }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request whose context ends: %v", err)
		}
		wg.Wait()
	})
}

// TestLooksHaveAPace: a reader that asks without end is told to come again; a member is not.
func TestLooksHaveAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newStatusCache()
		as := func(role security.Role) error {
			return l.enter(api.OnBehalf(t.Context(), wire.Caller{Role: role, ID: "cert:1"}))
		}
		for range 10 * queriesAtOnce {
			if err := as(security.Member); err != nil {
				t.Fatal(err)
			}
		}
		began, refused := time.Now(), 0
		for range queriesAtOnce + 10 {
			if err := as(security.Reader); err != nil {
				refused++
			}
		}
		if took := time.Since(began); took == 0 || refused > 0 {
			t.Errorf("%d queries took %v, %d were refused", queriesAtOnce+10, took, refused)
		}
		errs := make(chan error, 1000)
		for range cap(errs) {
			go func() { errs <- as(security.Reader) }()
		}
		time.Sleep(5 * time.Second)
		for range cap(errs) {
			if err := <-errs; err != nil {
				refused++
				if !errors.Is(err, wire.ErrOverloaded) {
					t.Fatal(err)
				}
			}
		}
		if refused == 0 {
			t.Error("a thousand queries together are all answered")
		}
	})
}
