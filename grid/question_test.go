package grid

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/owner"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// open asks for a name.
func (l *lonely) open(name string) <-chan error {
	return l.begin(func(ctx context.Context) error {
		_, err := l.m.serveOpen(ctx, wire.OpenRequest{Name: name})
		return err
	})
}

// TestNothingLeavesOfAnEarlierOwner: an answer that changes nothing waits until
// the backup was asked once more, though it held all that the answer rests on. An
// owner that was replaced meanwhile learns it there and says nothing: neither of a
// name that it has, nor of one that it lacks.
func TestNothingLeavesOfAnEarlierOwner(t *testing.T) {
	for what, later := range map[string]partition.Term{"still the owner": 0, "replaced": 7} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLonely(t)
				_, created := l.create()
				l.answered("create", created, true)
				open, unknown := l.open("orders"), l.open("invoices")
				l.answered("open", open, false)
				l.answered("open of what there is not", unknown, false)
				if later == 0 {
					l.holds(1)
					l.answered("open", open, true)
					if err := <-unknown; !errors.Is(err, sequencer.ErrNotFound) {
						t.Errorf("open of what there is not: %v", err)
					}
					return
				}
				l.delivered(l.m.roster.Load().Version, owner.Holds{Held: backup.Position{Term: later}, Newest: later})
				for _, call := range []<-chan error{open, unknown} {
					if err := <-call; !errors.Is(err, partition.ErrWrongOwner) {
						t.Errorf("an owner that was replaced answers %v, want wrong owner", err)
					}
				}
			})
		})
	}
}
