package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// do has the actor do f.
func (l *lonely) do(f func(now partition.View)) {
	done := make(chan struct{})
	l.o.tell(job{serve: func(now partition.View) { f(now); close(done) }})
	<-done
}

// number is how many changes the owner has made in its term.
func (l *lonely) number() (n uint64) {
	l.do(func(partition.View) { n = l.o.machine.Position().Number })
	return n
}

// attached creates a sequencer and gives it an attachment that the backup holds.
func (l *lonely) attached(id byte) wire.Sequencer {
	l.t.Helper()
	ref, _ := l.create()
	done := l.attach(ref, id)
	l.holds(2)
	l.answered("attach", done, true)
	return ref
}

// TestOwnerLooksAtTheNewestRoster: a roster counts from the actor's next request on, also if
// the actor was not woken for it. Otherwise a deposed owner would grant up to the ceiling
// of a version by which it owns nothing (O1, R6).
func TestOwnerLooksAtTheNewestRoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.attached(1)
		r := l.m.state.Roster()
		take := roster.Change{Take: []roster.Replica{{Partition: 0, Member: backupInc}}}
		next, err := r.Apply(roster.Command{From: r.Version, Change: &take})
		if err != nil {
			t.Fatal(err)
		}
		l.m.state.Apply(next) // without a nudge
		l.do(func(now partition.View) {
			l.o.machine.Renew(now, "h", nil, func(_ []partition.Renewed, answer error) { err = answer })
		})
		if !errors.Is(err, roster.ErrWrongOwner) {
			t.Errorf("the owner before acts on a roster that names another: %v", err)
		}
	})
}

// TestGrantsBeginBelowTheCeiling: an owner whose clock advances without raises begins no
// grant above its ceiling, which could not be used for a long time.
func TestGrantsBeginBelowTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref, _ := l.create()
		time.Sleep(time.Minute)
		attach := l.attach(ref, 1)
		l.holds(2)
		l.answered("attach", attach, true)
		if from, ceiling := l.record().Slots[0].From, l.m.state.Roster().Ceiling; from > ceiling {
			t.Errorf("the grant begins at %d, the ceiling is %d", from, ceiling)
		}
	})
}

// TestAnswersEndWithTheirTerm: what waits when its owner begins another term of its
// own is never answered: the record it rests on was discarded with the table (O2, O4).
func TestAnswersEndWithTheirTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref, _ := l.create()
		late := l.attach(ref, 1)
		l.answered("attach", late, false)
		l.change(roster.Change{Lose: []roster.Loss{{Partition: 0, Owner: ownerInc, With: []roster.Incarnation{backupInc}}}})
		l.term = l.m.state.Roster().Partitions[0].Term
		l.holds(0)
		if err := <-late; !errors.Is(err, roster.ErrWrongOwner) {
			t.Errorf("an attach of the term before the loss was answered: %v", err)
		}
	})
}

// TestOwnerHearsOfLaterTerms: a backup that tells of a later term acknowledges nothing,
// and does not depose an owner whose roster shows no such term (O1, O4).
func TestOwnerHearsOfLaterTerms(t *testing.T) {
	for what, gap := range map[string]bool{"it holds the table": false, "it lacks something": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLonely(t)
				ref := l.attached(1)
				later := roster.Term(l.m.state.Roster().Version) + 1
				attach := l.attach(ref, 2)
				l.delivered(l.m.state.Roster().Version, partition.Holds{Held: backup.Position{Term: l.term, Number: 3},
					Newest: later, Gap: gap})
				l.answered("attach", attach, false)
				if err := <-l.renew(ref, 1, 0); err != nil {
					t.Errorf("a renewal when a later term was told of: %v", err)
				}
				l.holds(3)
				l.answered("attach", attach, true)
				l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: backupInc}}})
				if err := <-l.renew(ref, 1, 0); !errors.Is(err, roster.ErrWrongOwner) {
					t.Errorf("a renewal when the roster shows the later term: %v", err)
				}
			})
		})
	}
}

// TestJoinerIsAskedAtTheVersion: a replica's answer to an update of an earlier version does
// not admit it, because it may have dropped its table since (R5).
func TestJoinerIsAskedAtTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.attached(1)
		backups := []roster.Replica{{Partition: 0, Member: backupInc}}
		l.change(roster.Change{Drop: backups})
		l.change(roster.Change{Add: backups})
		v := l.m.state.Roster().Version
		for _, reply := range []struct {
			version roster.Version
			number  uint64
			admits  bool
		}{{v - 1, 2, false}, {v, 1, false}, {v, 2, true}} {
			l.delivered(reply.version, partition.Holds{Held: backup.Position{Term: l.term, Number: reply.number},
				Newest: l.term})
			var ready bool
			var h roster.Holding
			l.do(func(partition.View) { h, ready = l.o.machine.Admission() })
			if ready != reply.admits || ready && h.Version != v {
				t.Errorf("at version %d, with number %d held at %d: %v, %v", v, reply.number, reply.version, h, ready)
			}
		}
	})
}

// TestRequestOfAnotherTenure: a request that arrived while the member was in another
// grid is not begun in this one (R9).
func TestRequestOfAnotherTenure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ctx := tenure.NewContext(t.Context(), tenure.NewLife().Tenure())
		begin := func(partition.View) (bool, error) { return true, nil }
		_, err := look(ctx, l.o, begin)
		if !errors.Is(err, wire.ErrNotAddressed) {
			t.Errorf("a request of another tenure: %v", err)
		}
		ctx = tenure.NewContext(t.Context(), l.m.life.Tenure())
		if _, err := look(ctx, l.o, begin); err != nil {
			t.Errorf("a request of this tenure: %v", err)
		}
	})
}

// TestAnswerBeforeTheEnd: a request that is answered before its context ends returns the answer, which may be a logical
// node.
func TestAnswerBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		for range 100 {
			ctx, cancel := context.WithCancel(tenure.NewContext(t.Context(), l.m.life.Tenure()))
			a := await(ctx, l.o, func(_ partition.View, reply func(bool, error)) {
				reply(true, nil)
				cancel()
			})
			if !a.value || a.err != nil {
				t.Fatalf("%+v", a)
			}
		}
	})
}

// TestEndedMemberGrantsNothing: once a member has ended, nothing it owns is granted,
// so that where its grants ended can be stated (S1).
func TestEndedMemberGrantsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref := l.attached(1)
		l.m.state.Ended.Store(true)
		attach, renewal := l.attach(ref, 2), l.renew(ref, 1, 0)
		l.holds(2)
		if err := <-attach; !errors.Is(err, sequencer.ErrClosed) {
			t.Errorf("attach at a member that has ended: %v", err)
		}
		if err := <-renewal; !errors.Is(err, sequencer.ErrClosed) {
			t.Errorf("renewal at a member that has ended: %v", err)
		}
	})
}
