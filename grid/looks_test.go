package grid

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/wire"
)

// TestStatusIsShared: callers that ask together share a status, and none is older than a second.
func TestStatusIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, gathered := newLooks(), 0
		gather := func(cost time.Duration) func() Status {
			return func() Status {
				gathered++
				time.Sleep(cost)
				return Status{Name: "g"}
			}
		}
		for range 3 {
			l.status(gather(0)) // a status that costs nothing is always new
		}
		if gathered != 3 {
			t.Errorf("gathered %d times, want 3", gathered)
		}
		gathered = 0
		for range 3 {
			for range 48 {
				go l.status(gather(50 * time.Millisecond))
			}
			synctest.Wait()
			time.Sleep(300 * time.Millisecond)
		}
		if gathered != 2 {
			t.Errorf("144 callers in 0.9 s had %d statuses gathered, want 2", gathered)
		}
		time.Sleep(sharedFor)
		l.status(gather(time.Hour))
		time.Sleep(sharedFor)
		if l.status(gather(0)); gathered != 4 {
			t.Errorf("a status is shared for longer than %v", sharedFor)
		}
	})
}

// TestLooksHaveAPace: a reader that asks without end is told to come again; a member is not.
func TestLooksHaveAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLooks()
		as := func(role security.Role) error {
			return l.enter(api.OnBehalf(t.Context(), wire.Caller{Role: role, ID: "cert:1"}))
		}
		for range 10 * looksAtOnce {
			if err := as(security.Member); err != nil {
				t.Fatal(err)
			}
		}
		began, refused := time.Now(), 0
		for range looksAtOnce + 10 {
			if err := as(security.Reader); err != nil {
				refused++
			}
		}
		if took := time.Since(began); took == 0 || refused > 0 {
			t.Errorf("%d queries took %v, %d were refused", looksAtOnce+10, took, refused)
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
