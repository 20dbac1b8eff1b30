package handles

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// silent is a backend that answers no detach, and calls ended as its context ends.
type silent struct {
	*fake
	ended func()
}

func (s silent) Detach(ctx context.Context, _ attachment.Ref, _ attachment.Release) error {
	<-ctx.Done()
	s.ended()
	return errors.Join(sequencer.ErrUnavailable, ctx.Err())
}

// TestLeaveEndsWithItsContext: the grants end, and at the same time the context. The error does not match an end that
// the context did not have.
func TestLeaveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		def, _ := sequencer.Define("orders", sequencer.Config{})
		e := &Entry[string]{}
		_, e.Control = attachment.New(attachment.Ref{Definition: def}, silent{f, cancel}, NewExactClock())
		wants(t, f.registry.Put(e))
		wants(t, e.Control.Handle().AttachLogicalNode(ctx))
		began := time.Now()
		err := f.registry.Leave(ctx, NewReleases(f.tasks), NewExactClock(), time.Minute)
		wants(t, err, sequencer.ErrUnavailable)
		if errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		f.registry.Close()
	})
}
