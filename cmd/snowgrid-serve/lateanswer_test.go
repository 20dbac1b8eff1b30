package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// slowlyBack is a store that takes no writes while it is away, and answers reads as the wait of a request ends.
type slowlyBack struct{ leaving }

func (s *slowlyBack) Load(ctx context.Context, key string) (store.Entry, error) {
	if s.away.Load() {
		time.Sleep(awayWait + time.Millisecond)
	}
	return s.Memory.Load(context.WithoutCancel(ctx), key)
}

// TestAnswerAsTheWaitEnds: the store answers that a name does not exist as the wait of a request during an outage ends.
// The caller gets that answer.
func TestAnswerAsTheWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowlyBack{leaving{Memory: store.NewMemory()}}
		clock := func() time.Time { return time.Now().AddDate(30, 0, 0) } // a bubble begins in 2000
		c, err := store.Open(t.Context(), l, store.Config{Window: 3 * time.Second, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		def, err := sequencer.Define("default", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := newService(def, slog.New(slog.DiscardHandler))
		s.now = clock
		if err := s.attach(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		l.away.Store(true)
		time.Sleep(6 * time.Second)
		if _, err := s.ids(t.Context(), wire.IDsRequest{Name: "missing"}); !errors.Is(err, sequencer.ErrNotFound) {
			t.Error(err)
		}
	})
}
