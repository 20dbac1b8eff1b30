package anchor

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	began  = clustertime.Tick(1_800_000_000_000)
	window = clustertime.Span(10_000)
	ahead  = 30 * time.Second
)

var errAway = errors.New("the store does not answer")

// desk is a leader at work: its machine, its roster and the store's record.
type desk struct {
	t       *testing.T
	m       *Machine
	v       View
	draws   int
	record  Record
	writes  int // names the revision, 0 means without a record
	swaps   []Swap
	reads   int
	fail    func(Step) error // before it is carried out
	lost    func(Step) error // after it was carried out: the answer is lost
	damaged bool
}

// newDesk is the leader of a grid that was just formed, without a record.
func newDesk(t *testing.T) *desk {
	r, err := new(roster.Roster).Apply(roster.Command{Form: &roster.Form{
		Grid: roster.GridID{7}, Ceiling: began, Settings: roster.Settings{Name: "g", Partitions: 1, Window: window},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, v: View{Roster: r, Mono: time.Hour, Wall: began}}
	d.m = New(self(1), ahead)
	return d
}

func self(n int) roster.Incarnation { return roster.Incarnation(fmt.Sprintf("%016x-%016x", n, n)) }

func claim(n int) roster.Claim { return roster.Claim(fmt.Sprintf("%032x", n)) }

// foreign puts a record of another grid into the store.
func (d *desk) foreign(ceiling clustertime.Tick) {
	d.writes++
	d.record = Record{Claim: claim(900), Ceiling: ceiling, Grid: roster.GridID{9}, Holder: self(9),
		Nonce: strconv.Itoa(d.writes)}
}

// step lets time pass, carries out all requests that are due, and agrees on resets.
func (d *desk) step(pass time.Duration) {
	d.t.Helper()
	d.v.Mono += pass
	d.v.Wall = d.v.Wall.Add(clustertime.SpanOf(pass))
	for range 20 {
		d.draws++
		d.v.Draw = Draw{Claim: claim(d.draws), Nonce: strconv.Itoa(1000 + d.draws)}
		if c, due := d.m.Reset(d.v.Roster, roster.Member{Incarnation: d.m.Self}); due {
			d.apply(c)
			continue
		}
		s := d.m.Step(d.v)
		if !s.Read && s.Swap == nil {
			return
		}
		d.m.Done(d.v, s, d.carryOut(s))
	}
	d.t.Fatal("steps without end")
}

func (d *desk) carryOut(s Step) (out Outcome) {
	if d.fail != nil {
		if err := d.fail(s); err != nil {
			return Outcome{Err: err}
		}
	}
	if s.Read {
		d.reads++
		switch {
		case d.damaged:
			return Outcome{Err: fmt.Errorf("read: %w", ErrDamaged)}
		case d.writes > 0:
			out.Seen = Seen{Record: d.record, Revision: strconv.Itoa(d.writes)}
		}
	} else {
		d.swaps = append(d.swaps, *s.Swap)
		if have := strconv.Itoa(d.writes); s.Swap.Revision != have && (d.writes > 0 || s.Swap.Revision != "") {
			return Outcome{Err: ErrRefused}
		}
		d.writes++
		d.record = s.Swap.Record
		out.Seen.Revision = strconv.Itoa(d.writes)
	}
	if d.lost != nil {
		if err := d.lost(s); err != nil {
			return Outcome{Err: err}
		}
	}
	return out
}

func (d *desk) apply(c roster.Command) {
	d.t.Helper()
	next, err := d.v.Roster.Apply(c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.v.Roster = next
}

// raise has the grid agree on a time, as far as the leader may raise.
func (d *desk) raise(t clustertime.Tick) {
	d.t.Helper()
	r := d.v.Roster
	d.apply(roster.Command{From: r.Version, Claim: r.Claim, Raise: &roster.Raise{Time: t, Limit: d.m.Limit(r)}})
}

func (d *desk) want(s State) {
	d.t.Helper()
	if got := d.m.State(d.v); got != s {
		d.t.Fatalf("state %s, want %s; record %+v, roster %+v, authority %+v", got, s, d.record, d.v.Roster, d.m.Authority)
	}
}

// TestFirstStart: without a record a grid takes it immediately, and its limit follows the
// agreed time with a swap for each half of the distance.
func TestFirstStart(t *testing.T) {
	d := newDesk(t)
	d.want(Unread)
	d.step(0)
	d.want(Held)
	if r := d.v.Roster; r.Claim != d.record.Claim || r.Partitions[0].Floor != began || d.record.Holder != d.m.Self ||
		len(d.swaps) != 1 {
		t.Fatalf("%+v, record %+v, %d swaps", r, d.record, len(d.swaps))
	}
	if d.raise(began); d.v.Roster.Ceiling != began {
		t.Fatalf("raised to %d before the limit was extended", d.v.Roster.Ceiling)
	}
	d.step(0)
	for i := range 60 { // a minute
		d.raise(began + clustertime.Tick(1000*i))
		d.step(time.Second)
		if got := d.v.Roster.Ceiling.Sub(d.v.Roster.Time); got != window {
			t.Fatalf("after %d s the ceiling is %v ahead", i, got.Duration())
		}
	}
	if n := len(d.swaps); n < 4 || n > 6 {
		t.Errorf("%d swaps in a minute, want about one for each %v", n, ahead/2)
	}
}

// TestRestartWaitsForTheRecord: a life that begins beside another one takes the record
// when the clock reaches its limit, and begins there.
func TestRestartWaitsForTheRecord(t *testing.T) {
	d := newDesk(t)
	limit := began + 20_000
	d.foreign(limit)
	d.step(0)
	d.want(Waiting)
	d.step(19 * time.Second)
	d.want(Waiting)
	d.foreign(limit + 15_000) // it runs
	d.step(3 * time.Second)
	d.want(Waiting)
	d.step(14 * time.Second)
	d.want(Held)
	if got := d.v.Roster.Partitions[0].Floor; got != limit+15_000 {
		t.Errorf("begins at %d, want %d", got, limit+15_000)
	}
}

// TestRestartWithAClockBehind: the record is taken when nothing has extended it for one
// and a half times the distance.
func TestRestartWithAClockBehind(t *testing.T) {
	d := newDesk(t)
	limit := began + 600_000
	d.foreign(limit)
	d.step(0)
	d.step(ahead*3/2 - time.Second)
	d.want(Waiting)
	d.step(time.Second)
	d.want(Held)
	if got := d.v.Roster.Partitions[0].Floor; got != limit || d.record.Ceiling != limit {
		t.Errorf("begins at %d under %d, want %d", got, d.record.Ceiling, limit)
	}
}

// TestWaitingLifeAfterAnOutage: a life that waits does not count an outage of the store, in which the holder could
// not extend the record. When the store answers again, the holder has its time to extend it.
func TestWaitingLifeAfterAnOutage(t *testing.T) {
	d := newDesk(t)
	d.foreign(began + 6_000_000)
	d.step(0)
	d.step(10 * time.Second)
	d.fail = func(Step) error { return errAway }
	for range 60 { // ten minutes
		d.step(10 * time.Second)
	}
	d.fail = nil
	d.step(10 * time.Second)
	d.want(Waiting)
	d.foreign(began + 6_000_001) // the holder is there
	d.step(10 * time.Second)
	d.want(Waiting)
	d.step(ahead * 3 / 2)
	d.want(Held)
}

// TestTakenGridGivesWay: a grid whose record was taken raises no further than it may, and
// takes the record again only when its taker is gone, or a person says so.
func TestTakenGridGivesWay(t *testing.T) {
	for name, again := range map[string]func(d *desk){
		"when the taker is gone": func(d *desk) { d.step(ahead*3/2 - 1); d.want(Lost); d.step(2 * time.Second) },
		"when a person says so":  func(d *desk) { d.m.Take(); d.step(watchEvery) },
	} {
		d := newDesk(t)
		d.step(0)
		d.raise(began)
		d.step(0)
		held := d.record.Ceiling
		d.foreign(held + 5_000)
		d.step(ahead)
		d.want(Lost)
		d.raise(began + 100_000)
		if got := d.v.Roster.Ceiling; got > held {
			t.Fatalf("%s: raised to %d, and %d was seen", name, got, held)
		}
		for range 10 { // it runs
			d.foreign(d.record.Ceiling + 5_000)
			d.step(ahead / 2)
			d.want(Lost)
		}
		taken := d.record.Ceiling
		again(d)
		d.want(Held)
		if got := d.v.Roster.Partitions[0].Floor; got != max(taken, d.v.Roster.Partitions[0].Floor) || got < taken {
			t.Errorf("%s: begins at %d, want %d", name, got, taken)
		}
	}
}

// TestTwoLivesBeginTogether: the one that is a moment later does not take the record from
// the other, whose first extension is still to come.
func TestTwoLivesBeginTogether(t *testing.T) {
	d := newDesk(t)
	d.foreign(began + 5_000)
	d.fail = func(s Step) error {
		if s.Swap != nil && d.writes == 1 {
			d.foreign(began + 5_000) // taken by the other
			return ErrRefused
		}
		return nil
	}
	d.step(0)
	d.step(6 * time.Second)
	d.want(Waiting)
	d.foreign(began + 40_000) // extended
	d.step(settling)
	d.want(Waiting)
}

// TestUnknownSwapIsSettledByARead: a lost answer says neither yes nor no.
func TestUnknownSwapIsSettledByARead(t *testing.T) {
	once := func(kind Kind, err error) func(Step) error {
		done := false
		return func(s Step) error {
			if s.Swap == nil || s.Swap.Kind != kind || done {
				return nil
			}
			done = true
			return err
		}
	}
	for _, kind := range []Kind{Take, Extend} {
		for _, landed := range []bool{false, true} {
			d := newDesk(t)
			if landed {
				d.lost = once(kind, errAway)
			} else {
				d.fail = once(kind, errAway)
			}
			d.step(0)
			if kind == Extend {
				d.raise(began)
				d.step(0)
				if got := d.m.Limit(d.v.Roster); got != began {
					t.Fatalf("landed %v: an extension without an answer gives %d", landed, got)
				}
			} else if d.v.Roster.Claim != "" {
				t.Fatalf("landed %v: a take without an answer was reset", landed)
			}
			d.step(retryFirst)
			d.want(Held)
			takes := 0
			for _, s := range d.swaps {
				if s.Kind == Take {
					takes++
				}
			}
			if takes != 1 || d.v.Roster.Claim != d.record.Claim {
				t.Errorf("kind %d, landed %v: %d takes, claim %s and record %s", kind, landed, takes, d.v.Roster.Claim,
					d.record.Claim)
			}
		}
	}
}

// TestRefusedSwapIsReadAgain: another leader was faster.
func TestRefusedSwapIsReadAgain(t *testing.T) {
	d := newDesk(t)
	d.fail = func(s Step) error {
		if s.Swap != nil && d.writes == 0 {
			d.foreign(began + 1000)
			return ErrRefused
		}
		return nil
	}
	d.step(0)
	d.want(Waiting)
	d.step(2 * time.Second)
	d.step(settling)
	d.want(Held)
	if got := d.v.Roster.Partitions[0].Floor; got != began+1000 {
		t.Errorf("begins at %d", got)
	}
}

// TestStoreAway: reads are repeated at a bounded pace, and the record that was seen stays usable.
func TestStoreAway(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	d.raise(began)
	d.step(0)
	limit := d.m.Limit(d.v.Roster)
	tries := 0
	d.fail = func(Step) error { tries++; return errAway }
	for i := range 600 { // a minute
		d.raise(began + clustertime.Tick(100*i))
		d.step(100 * time.Millisecond)
	}
	if d.want(Unread); d.v.Roster.Ceiling != limit || d.m.Limit(d.v.Roster) != limit {
		t.Errorf("ceiling %d, limit %d, want %d", d.v.Roster.Ceiling, d.m.Limit(d.v.Roster), limit)
	}
	if tries < 20 || tries > 60 {
		t.Errorf("%d tries in a minute", tries)
	}
	d.fail = nil
	d.step(retryMost)
	d.want(Held)
	d.raise(began + 60_000)
	if got := d.v.Roster.Ceiling; got != began+60_000+clustertime.Tick(window) {
		t.Errorf("ceiling %d after the store was back", got)
	}
}

// TestDeletedRecord: nothing is written in place of a record that is gone until a person
// says so.
func TestDeletedRecord(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	d.record, d.writes = Record{}, 0
	d.step(2 * ahead)
	d.want(Missing)
	n, before := len(d.swaps), d.v.Roster.Ceiling
	d.step(10 * ahead)
	if d.want(Missing); len(d.swaps) != n {
		t.Fatalf("%d swaps", len(d.swaps)-n)
	}
	if s, err := d.m.Authority.Take(d.v.Roster, Seen{}, d.v.Draw); !errors.Is(err, ErrDeleted) {
		t.Fatalf("taken as if there had never been one: %+v, %v", s, err)
	}
	d.m.Take()
	d.step(0)
	d.want(Held)
	if got := d.v.Roster.Partitions[0].Floor; got != before {
		t.Errorf("begins at %d, want %d", got, before)
	}
}

// TestDamagedRecord: a body that is not a record is never written over.
func TestDamagedRecord(t *testing.T) {
	d := newDesk(t)
	d.damaged = true
	d.step(0)
	d.step(10 * ahead)
	if d.want(Damaged); len(d.swaps) > 0 {
		t.Errorf("swaps %+v", d.swaps)
	}
}

// TestJumpIsBounded: the limit follows a jump of the agreed time in steps, since the next
// life has to wait for it.
func TestJumpIsBounded(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	d.raise(began)
	d.step(0)
	d.raise(began + 86_400_000)
	ceiling := d.v.Roster.Ceiling
	d.step(0)
	if got, most := d.record.Ceiling, ceiling.Add(clustertime.SpanOf(ahead+jumpLimit)); got != most {
		t.Errorf("extended to %d, want %d", got, most)
	}
}

// TestStopLowersTheLimit: after the stop, and not before.
func TestStopLowersTheLimit(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	d.raise(began)
	d.step(0)
	if _, err := d.m.Lower(d.v.Roster, Seen{Record: d.record, Revision: "2"}, began, d.v.Draw); !errors.Is(err,
		ErrNotAllowed) {
		t.Fatalf("lowered while it runs: %v", err)
	}
	r := d.v.Roster
	d.apply(roster.Command{From: r.Version, Claim: r.Claim, Change: &roster.Change{Stop: began}})
	d.step(time.Second)
	if d.record.Ceiling != began || d.record.Claim != r.Claim {
		t.Errorf("record %+v", d.record)
	}
}

// TestLimitAfterAStopFollowsTheFirstRaise: the next life extends the lowered limit at the time of the stop, before it
// has agreed on the present. The limit then follows its first raise, however long the stop was.
func TestLimitAfterAStopFollowsTheFirstRaise(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	d.raise(began)
	d.step(0)
	r := d.v.Roster
	d.apply(roster.Command{From: r.Version, Claim: r.Claim, Change: &roster.Change{Stop: began}})
	d.step(time.Second)
	const down = 60 * 24 * time.Hour
	d.m = New(self(2), ahead)
	d.step(down)
	d.want(Held)
	now := began.Add(clustertime.SpanOf(down))
	d.raise(now)
	d.step(0)
	if want := now.Add(clustertime.SpanOf(ahead)); d.record.Ceiling != want {
		t.Errorf("the limit is %v before the time that it follows", want.Sub(d.record.Ceiling).Duration())
	}
	d.raise(now + 86_400_000)
	d.step(0)
	if most := d.v.Roster.Ceiling.Add(clustertime.SpanOf(ahead + jumpLimit)); d.record.Ceiling > most {
		t.Errorf("extended to %d, above %d", d.record.Ceiling, most)
	}
}

// TestNeededLimit: a limit that a holder's grant needs is written although time does not.
func TestNeededLimit(t *testing.T) {
	d := newDesk(t)
	d.step(0)
	d.raise(began)
	d.step(0)
	d.v.Need = began + 200_000
	d.step(0)
	if d.m.Limit(d.v.Roster) != began+200_000 {
		t.Errorf("limit %d", d.m.Limit(d.v.Roster))
	}
}

// TestDistanceOfTwoWindows: the limit is at least two windows ahead, so that half of the
// distance is enough for a raise.
func TestDistanceOfTwoWindows(t *testing.T) {
	d := newDesk(t)
	for stated, want := range map[time.Duration]clustertime.Span{0: 30_000, time.Second: 20_000, time.Minute: 60_000} {
		if got := New(self(1), stated).Ahead(d.v.Roster); got != want {
			t.Errorf("ahead %v is %d ms, want %d", stated, got, want)
		}
	}
}
