package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// destroy begins to end a life.
func (l *lonely) destroy(name string) <-chan error {
	return l.begin(func(ctx context.Context) error {
		_, err := l.m.Destroy(ctx, wire.DestroyRequest{Name: name})
		return err
	})
}

// raise moves the ceiling on.
func (l *lonely) raise(to clustertime.Tick) {
	l.t.Helper()
	l.apply(roster.Command{From: l.m.state.Roster().Version, Raise: &roster.Raise{Time: to}})
}

// record returns the owner's only record.
func (l *lonely) record() (r partition.RecordState) {
	l.t.Helper()
	l.do(func(partition.View) { r = l.o.machine.Table().Snapshot().Records[0] })
	return r
}

// TestDestroyWaitsForItsMark: a destroy whose holders had their time is answered
// when the backup holds the life's mark, and not before; meanwhile its grants are
// not extended (O4, O7).
func TestDestroyWaitsForItsMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref := l.attached(1)
		l.raise(1_002_000)
		done := l.destroy("orders")
		if until := l.one(ref, 1, roster.GridID{1}); until != 0 {
			t.Errorf("grants of a life that ends were extended until %d", until)
		}
		open := l.open("orders")
		l.holds(2)
		if err := <-open; !errors.Is(err, sequencer.ErrUnavailable) {
			t.Errorf("open of a life that ends: %v", err)
		}
		time.Sleep(2 * time.Second) // of which holders had the first
		synctest.Wait()
		if n := l.number(); n != 3 {
			t.Errorf("%d changes after the holders' time, want 3", n)
		}
		l.answered("destroy", done, false)
		l.holds(3)
		l.answered("destroy", done, true)
	})
}

// one shows a holder's only attachment, on node 0, as it was answered but for life.
func (l *lonely) one(ref wire.Sequencer, id byte, grid roster.GridID) (until clustertime.Tick) {
	r, _ := ref.Ref()
	a := attachment.Attachment{ID: attachment.ID{id}, Grant: attachment.Grant{From: l.record().Slots[0].From}}
	set := wire.ClaimSet{Count: 1, Print: attachment.FingerprintOf(r.Life, a)}
	<-l.begin(func(ctx context.Context) error {
		until = l.m.renewSet(ctx, wire.RenewRequest{Holder: "h", Grid: grid}, set)
		return nil
	})
	return until
}

// TestSetsAreOfThisGridAndKnown: a whole set is extended only if it equals the owner's
// state, for a holder of this grid (O6, R9).
func TestSetsAreOfThisGridAndKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref := l.attached(1)
		if until := l.one(ref, 1, roster.GridID{2}); until != 0 {
			t.Errorf("a set of another grid was extended until %d", until)
		}
		if until := l.one(ref, 9, roster.GridID{1}); until != 0 {
			t.Errorf("an unknown attachment was extended until %d", until)
		}
		if until, want := l.one(ref, 1, roster.GridID{1}), l.m.state.Roster().Ceiling; until != want {
			t.Errorf("extended until %d, want %d", until, want)
		}
	})
}

// TestDetachedNodeStaysReservedUntilExtendedEnd: a holder that was told of a later end together
// with others may use all of it, and its node is free again above that, whether it
// gives the node back or falls silent (O5, O7).
func TestDetachedNodeStaysReservedUntilExtendedEnd(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent ", silent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLonely(t)
				ref := l.attached(1)
				l.raise(1_010_000)
				ceiling := l.m.state.Roster().Ceiling
				if until := l.one(ref, 1, roster.GridID{1}); until != ceiling {
					t.Fatalf("extended until %d, want %d", until, ceiling)
				}
				if silent {
					time.Sleep(20 * time.Second)
				} else {
					back := l.begin(func(ctx context.Context) error {
						_, err := l.m.Detach(ctx, wire.DetachRequest{Holder: "h", Sequencer: ref, ID: attachment.ID{1},
							LastUsed: ceiling - 1})
						return err
					})
					l.holds(3)
					l.answered("detach", back, true)
				}
				if s := l.record().Slots[0]; !s.ID.IsZero() || s.Free != ceiling {
					t.Errorf("the node is free from %d, want %d: %+v", s.Free, ceiling, s)
				}
				if n := l.number(); n != 3 {
					t.Errorf("the backup is told of %d changes, want 3", n)
				}
			})
		})
	}
}

// TestInheritedAttachmentsExpire: a new owner gives the holders of inherited attachments a
// window to show them, and no more (O6, O7).
func TestInheritedAttachmentsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.attached(1)
		for _, owner := range []roster.Incarnation{backupInc, ownerInc} {
			l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: owner}}})
		}
		l.term = l.m.state.Roster().Partitions[0].Term
		l.holds(0)
		time.Sleep(14 * time.Second)
		if s := l.record().Slots[0]; s.ID.IsZero() {
			t.Errorf("it expired before its holder had a window: %+v", s)
		}
		time.Sleep(2 * time.Second)
		if s := l.record().Slots[0]; !s.ID.IsZero() {
			t.Errorf("it is held still: %+v", s)
		}
	})
}

// TestForgettingIsAChange: the backup is told of a mark that time has passed (O3).
func TestForgettingIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.o.machine.KeepTombstones(0)
		l.create()
		l.destroy("orders") // it has no holder
		l.holds(2)
		l.do(l.o.machine.Tick)
		if n := l.number(); n != 3 {
			t.Errorf("%d changes after the mark has passed, want 3", n)
		}
	})
}
