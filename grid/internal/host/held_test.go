package host

import (
	"log/slog"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"

	"context"
	"errors"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/raftlog"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// lonely is an owner whose only backup is played by the test: it acknowledges what
// and when the test says. It has to be used in a bubble.
type lonely struct {
	t      *testing.T
	m      *Host
	o      *actor
	played *played
	term   roster.Term
}

const (
	ownerInc  roster.Incarnation = "aaaaaaaaaaaaaaaa-0000000000000001"
	backupInc roster.Incarnation = "bbbbbbbbbbbbbbbb-0000000000000001"
)

func newLonely(t *testing.T) *lonely {
	clock := handles.NewExactClock()
	life, log := tenure.NewLife(), slog.New(slog.DiscardHandler)
	known := state.New(clock, handles.NewExactClock())
	clock.Sample(1_000_000)
	http := calls.NewPool(func(context.Context, string) (net.Conn, error) { return nil, errors.New("cut") }, nil)
	inGrid := func() roster.GridID { return roster.GridID{1} }
	raft := raftlog.NewServer(raftlog.ServerConfig{State: known, Life: life, Log: log})
	raft.SetNode(&raftlog.Node{}) // it takes part, and has no leader
	m := New(Config{
		Self: ownerInc, Grid: inGrid, State: known, Life: life, Log: log, Raft: raft, Events: api.NewEvents(),
		Caller: api.Caller{HTTP: http, Grid: inGrid, Claim: func() roster.Claim { return "" },
			Library: librarylog.New(log, clock.Mono)},
		ReportEarlier: func(clustertime.Tick) {},
		ReportHeld:    func(context.Context, wire.HeldRequest) error { return errors.New("cut") },
		Changed:       func() {},
	})
	l := &lonely{t: t, m: m}
	form := roster.Form{Grid: roster.GridID{1}, Ceiling: 1_000_000, Settings: roster.Settings{Name: "g", Partitions: 1,
		Backups: 1, Window: 15000}}
	l.apply(roster.Command{Form: &form})
	l.change(roster.Change{
		Join: []roster.Member{{Incarnation: ownerInc, API: "a:1"}, {Incarnation: backupInc, API: "b:1"}},
		Lose: []roster.Loss{{Partition: 0, Owner: ownerInc, With: []roster.Incarnation{backupInc}}},
	})
	l.apply(roster.Command{From: m.state.Roster().Version, Raise: &roster.Raise{Time: 1_000_000}})
	l.term = m.state.Roster().Partitions[0].Term
	var err error
	if l.o, err = m.actorOf(0); err != nil {
		t.Fatal(err)
	}
	l.played = &played{actor: l.o}
	l.do(func(now partition.View) {
		l.o.machine = partition.New(0, ownerInc, now.Mono, l.played)
		l.o.machine.Observe(now)
	})
	t.Cleanup(func() {
		m.life.Stop()
		m.life.Wait()
		http.Close()
	})
	return l
}

// apply applies a roster command, as the log would.
func (l *lonely) apply(c roster.Command) {
	l.t.Helper()
	next, err := l.m.state.Roster().Apply(c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.m.state.Apply(next)
	if l.o != nil {
		l.o.nudge <- struct{}{}
	}
	synctest.Wait()
}

func (l *lonely) change(c roster.Change) {
	l.t.Helper()
	l.apply(roster.Command{From: l.m.state.Roster().Version, Change: &c})
}

// played is a member whose deliveries the test answers.
type played struct {
	*actor
	under []partition.Delivery // way: not answered yet
}

// Send implements partition.Member.
func (p *played) Send(d partition.Delivery) { p.under = append(p.under, d) }

// holds has the backup say what it holds, in answer to whatever it was asked.
func (l *lonely) holds(number uint64) {
	for range 2 { // answers in transit, and to questions asked meanwhile
		l.delivered(l.m.state.Roster().Version, partition.Holds{Held: backup.Position{Term: l.term, Number: number}})
	}
}

// delivered has the backup answer what it was sent last, as if at a version.
func (l *lonely) delivered(v roster.Version, h partition.Holds) {
	l.do(func(now partition.View) {
		d := partition.Delivery{To: backupInc}
		if n := len(l.played.under); n > 0 {
			d, l.played.under = l.played.under[n-1], nil
		}
		d.Update.Version = v
		l.o.machine.Delivered(now, d, h, nil)
	})
	synctest.Wait()
}

// begin makes a call in the background.
func (l *lonely) begin(call func(ctx context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(l.m.ctx, time.Hour)
		defer cancel()
		done <- call(ctx)
	}()
	synctest.Wait()
	return done
}

// answered wants a call to have been answered without error, or not at all yet.
func (l *lonely) answered(what string, call <-chan error, want bool) {
	l.t.Helper()
	select {
	case err := <-call:
		if err != nil || !want {
			l.t.Errorf("%s: answered %v, want an answer: %v", what, err, want)
		}
	default:
		if want {
			l.t.Errorf("%s: not answered yet", what)
		}
	}
}

// attach asks for an attachment, and claim shows it.
func (l *lonely) attach(ref wire.Sequencer, id byte) <-chan error {
	return l.begin(func(ctx context.Context) error {
		_, err := l.m.Attach(ctx, wire.AttachRequest{Holder: "h", Claim: claim(ref, id)})
		return err
	})
}

func claim(ref wire.Sequencer, id byte) wire.Claim {
	return wire.Claim{Sequencer: ref, ID: attachment.ID{id}, Node: new(sequencer.NodeID), Grid: roster.GridID{1}}
}

// renew shows one attachment on a node, for as long as the caller likes to wait.
func (l *lonely) renew(ref wire.Sequencer, id byte, node sequencer.NodeID) <-chan error {
	return l.begin(func(ctx context.Context) error {
		c := claim(ref, id)
		c.Node = &node
		out := l.m.renewClaims(ctx, wire.RenewRequest{Holder: "h", Claims: []wire.Claim{c}}, []int{0})
		return out[0].Error.Unwire()
	})
}

func (l *lonely) create() (wire.Sequencer, <-chan error) {
	var ref wire.Sequencer
	done := l.begin(func(ctx context.Context) error {
		res, err := l.m.Create(ctx, wire.CreateRequest{Name: "orders", Epoch: new(int64(1)), Nodes: 128})
		ref = res.Sequencer
		return err
	})
	l.holds(0)
	l.holds(1)
	return ref, done
}

// TestNothingLeavesBeforeTheTermIsHeld: in a new term not even what changes
// nothing is answered before the backup holds the table (O4).
func TestNothingLeavesBeforeTheTermIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref := wire.Sequencer{Name: "orders", Epoch: 1, Nodes: 128}
		open := l.begin(func(ctx context.Context) error {
			_, err := l.m.Open(ctx, wire.OpenRequest{Name: "orders"})
			if errors.Is(err, sequencer.ErrNotFound) {
				return nil
			}
			return err
		})
		renew := l.renew(ref, 1, 0)
		l.answered("open", open, false)
		l.answered("renewal", renew, false)
		l.holds(0)
		l.answered("open", open, true)
		l.answered("renewal, which adopts", renew, false)
		l.holds(1)
		l.answered("renewal, which adopts", renew, true)
	})
}

// TestDoubtWithoutALeader: a member in doubt does not count as unreached while no leader answers either.
func TestDoubtWithoutALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		l.m.Doubt(backupInc)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := l.m.Unreached(); len(got) > 0 {
			t.Errorf("unreached are %v", got)
		}
	})
}

// TestInheritedWaitsForItsTerm: a record that the owner had before its term began is
// renewed only when the backup holds the table as the term began with it (O4).
func TestInheritedWaitsForItsTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref := l.attached(1)
		for _, owner := range []roster.Incarnation{backupInc, ownerInc} {
			l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: owner}}})
		}
		l.term = l.m.state.Roster().Partitions[0].Term
		renewal := l.renew(ref, 1, 0)
		l.answered("renewal", renewal, false)
		l.holds(0)
		l.answered("renewal", renewal, true)
	})
}

// TestAnswersWaitForTheirRecord: each answer waits until the backup has acknowledged the
// changes on which it depends. A renewal waits for its own record only, so a backup that is silent
// stops no holder; whatever else there is waits for the whole table (O4, O8).
func TestAnswersWaitForTheirRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref, created := l.create()
		l.answered("create", created, true)
		first := l.attach(ref, 1)
		l.answered("attach", first, false)
		l.holds(2)
		l.answered("attach", first, true)

		second := l.attach(ref, 2)
		again := l.attach(ref, 2)
		l.answered("renewal of the first", l.renew(ref, 1, 0), true)
		early := l.renew(ref, 2, 1)
		l.answered("renewal of the second", early, false)
		l.answered("second attach", second, false)
		l.answered("second attach again", again, false)
		if until := l.set(ref); until != 0 {
			t.Errorf("the whole set was extended until %d with an unacknowledged one", until)
		}
		l.holds(3)
		for what, call := range map[string]<-chan error{"renewal of the second": early, "second attach": second,
			"again": again} {
			l.answered(what, call, true)
		}
		if until := l.set(ref); until != l.m.state.Roster().Ceiling {
			t.Errorf("the whole set was extended until %d, want the ceiling", until)
		}

		detach := l.begin(func(ctx context.Context) error {
			_, err := l.m.Detach(ctx, wire.DetachRequest{Holder: "h", Sequencer: ref, ID: attachment.ID{2}, Node: 1})
			return err
		})
		l.answered("detach", detach, false)
		l.holds(4)
		l.answered("detach", detach, true)
	})
}

// set shows both attachments together, as they were answered.
func (l *lonely) set(ref wire.Sequencer) (until clustertime.Tick) {
	r, _ := ref.Ref()
	set := wire.ClaimSet{Count: 2}
	table, _ := look(l.m.ctx, l.o,
		func(partition.View) (partition.TableState, error) { return l.o.machine.Table().Snapshot(), nil })
	for _, s := range table.Records[0].Slots {
		set.Print = set.Print.With(attachment.FingerprintOf(r.Life,
			attachment.Attachment{ID: s.ID, Node: s.Node, Grant: attachment.Grant{From: s.From}}))
	}
	done := l.begin(func(ctx context.Context) error {
		until = l.m.renewSet(ctx, wire.RenewRequest{Holder: "h", Grid: roster.GridID{1}}, set)
		return nil
	})
	<-done
	return until
}

// TestHeldAnswersFollowTheRoster: answers go out when the roster needs the silent
// backup no longer (R4), wait for one that joins (R5), and never go out under a
// later term (O1).
func TestHeldAnswersFollowTheRoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref, _ := l.create()
		first := l.attach(ref, 1)
		l.answered("attach", first, false)
		l.change(roster.Change{Drop: []roster.Replica{{Partition: 0, Member: backupInc}}})
		l.answered("attach, the backup dropped", first, true)

		l.change(roster.Change{Add: []roster.Replica{{Partition: 0, Member: backupInc}}})
		second := l.attach(ref, 2)
		l.answered("attach, the backup joining", second, false)
		l.holds(3)
		l.answered("attach, the backup joining", second, true)
		l.change(roster.Change{Admit: []roster.Replica{{Partition: 0, Member: backupInc}}})

		third := l.attach(ref, 3)
		l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: backupInc}}})
		if err := <-third; !errors.Is(err, roster.ErrWrongOwner) {
			t.Errorf("an attach of an earlier term: %v", err)
		}
		l.holds(4) // too late
		if err := <-l.renew(ref, 1, 0); !errors.Is(err, roster.ErrWrongOwner) {
			t.Errorf("a renewal under a later term: %v", err)
		}
	})
}

// TestLateRenewalAfterDetachAttachesNothing: a renewal or an attach that was sent before an attachment
// was given back, and arrives after, attaches nothing.
func TestLateRenewalAfterDetachAttachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLonely(t)
		ref, _ := l.create()
		attach := l.attach(ref, 1)
		l.holds(2)
		l.answered("attach", attach, true)
		detach := l.begin(func(ctx context.Context) error {
			_, err := l.m.Detach(ctx, wire.DetachRequest{Holder: "h", Sequencer: ref, ID: attachment.ID{1}})
			return err
		})
		l.holds(3)
		l.answered("detach", detach, true)
		late := map[string]<-chan error{"renewal": l.renew(ref, 1, 0), "attach": l.attach(ref, 1)}
		l.holds(3)
		for what, call := range late {
			if err := <-call; !errors.Is(err, sequencer.ErrDetached) {
				t.Errorf("a late %s: %v", what, err)
			}
		}
		tenants, _ := look(l.m.ctx, l.o,
			func(partition.View) ([]partition.Tenant, error) { return l.o.machine.Table().Tenants(), nil })
		if len(tenants) > 0 {
			t.Errorf("attached again: %v", tenants)
		}
		time.Sleep(30 * time.Second)
		if left, _ := look(l.m.ctx, l.o, func(partition.View) (bool, error) { return l.o.machine.Ticks(), nil }); left {
			t.Error("the attachment, or its handle, is remembered indefinitely")
		}
	})
}
