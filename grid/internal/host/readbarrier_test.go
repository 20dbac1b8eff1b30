package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// open asks for a name.
func (l *lonely) open(name string) <-chan error {
	return l.begin(func(ctx context.Context) error {
		_, err := l.m.Open(ctx, wire.OpenRequest{Name: name})
		return err
	})
}

// TestNothingLeavesOfAnEarlierOwner: an answer that changes nothing waits until
// the backup was asked once more, though it held all that the answer rests on. A
// backup that tells of a later term has not answered: an owner that was replaced
// meanwhile says nothing, neither of a name that it has, nor of one that it lacks,
// until its roster shows it.
func TestNothingLeavesOfAnEarlierOwner(t *testing.T) {
	for what, replaced := range map[string]bool{"still the owner": false, "replaced": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLonely(t)
				_, created := l.create()
				l.answered("create", created, true)
				open, unknown := l.open("orders"), l.open("invoices")
				l.answered("open", open, false)
				l.answered("open of an unknown name", unknown, false)
				if !replaced {
					l.holds(1)
					l.answered("open", open, true)
					if err := <-unknown; !errors.Is(err, sequencer.ErrNotFound) {
						t.Errorf("open of an unknown name: %v", err)
					}
					return
				}
				later := roster.Term(l.m.state.Roster().Version) + 1
				l.delivered(l.m.state.Roster().Version, partition.Holds{Held: backup.Position{Term: l.term, Number: 1},
					Newest: later})
				l.answered("open, of a term that the roster does not show", open, false)
				l.answered("open of an unknown name", unknown, false)
				l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: backupInc}}})
				for _, call := range []<-chan error{open, unknown} {
					if err := <-call; !errors.Is(err, roster.ErrWrongOwner) {
						t.Errorf("an owner that was replaced answers %v, want wrong owner", err)
					}
				}
			})
		})
	}
}
