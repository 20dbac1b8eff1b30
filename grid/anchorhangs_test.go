package grid

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/leader/anchor"
)

// hanging is a store whose calls do not return before ended is closed.
type hanging struct {
	store.Store
	ended chan struct{}
}

func (h hanging) Load(context.Context, string) (store.Entry, error) {
	<-h.ended
	return store.Entry{}, nil
}

func (h hanging) Swap(context.Context, store.Entry) (store.Revision, error) {
	<-h.ended
	return "", nil
}

func (h hanging) SwapIn(context.Context, store.Entry, string) (store.Revision, error) {
	<-h.ended
	return "", nil
}

func (h hanging) Generation(context.Context) (string, bool, error) {
	<-h.ended
	return "", false, nil
}

// TestAnchorThatHangs: a step on the record ends while the store does not return, with an unknown outcome.
func TestAnchorThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{ended: make(chan struct{})}
		defer close(h.ended)
		a := &anchorage{store: h}
		for name, call := range map[string]func() error{
			"read":  func() error { return a.do(t.Context(), anchor.Step{Read: true}).Err },
			"swap":  func() error { return a.do(t.Context(), anchor.Step{Swap: &anchor.Swap{}}).Err },
			"check": func() error { return a.check(t.Context()) },
		} {
			began := time.Now()
			if err := call(); !errors.Is(err, bounded.ErrHangs) || time.Since(began) > anchor.Timeout+time.Second {
				t.Errorf("%s: ended after %v: %v", name, time.Since(began), err)
			}
		}
	})
}
