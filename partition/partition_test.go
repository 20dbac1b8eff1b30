package partition_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

const window = 15_000

var incarnations = []roster.Incarnation{"aaaaaaaaaaaaaaaa-0000000000000001", "bbbbbbbbbbbbbbbb-0000000000000001"}

// pair is two members' machines of one partition, and the messages between them, which the
// test delivers or loses.
type pair struct {
	t        rapid.TB
	roster   *roster.Roster
	machines []*partition.Machine
	mail     []letter
	mono     time.Duration
	ended    bool
	told     int
	toldTo   []attachment.HolderID // of the last notification
	expired  int
	open     map[string]bool // requests without a reply yet
	requests int
}

// letter is a delivery on its way, or the answer to one.
type letter struct {
	owner    int
	delivery partition.Delivery
	answer   bool
	holds    partition.Holds
	err      error
}

// seat is a machine's member.
type seat struct {
	p *pair
	i int
}

func (s seat) Send(d partition.Delivery) {
	s.p.mail = append(s.p.mail, letter{owner: s.i, delivery: d})
}
func (s seat) TellEnded(holders []attachment.HolderID, _ attachment.Ref) {
	s.p.told++
	s.p.toldTo = holders
}
func (s seat) ReportHeld(roster.Holding)                         {}
func (s seat) ReportEarlier(clustertime.Tick)                    {}
func (s seat) BecameOwner(roster.PartitionID, roster.Term)       {}
func (s seat) Expired(id roster.PartitionID, t partition.Tenant) { s.p.expired++ }

func (s seat) Store(partition.Write)                                         {}
func (s seat) ReportStored(roster.Incarnation, backup.Position)              {}
func (s seat) Collect(partition.Collection)                                  {}
func (s seat) ReportPersisted(roster.Persisted)                              {}
func (s seat) DefinitionsCollected(roster.PartitionID, roster.MemberID, int) {}

func newPair(t rapid.TB) *pair {
	p := &pair{t: t, roster: new(roster.Roster), open: map[string]bool{}}
	for i, inc := range incarnations {
		p.machines = append(p.machines, partition.New(0, inc, 0, seat{p, i}))
	}
	form := roster.Form{Grid: roster.GridID{1}, Ceiling: 1_800_000_000_000,
		Settings: roster.Settings{Name: "g", Partitions: 1, Backups: 1, Window: window}}
	p.apply(roster.Command{Form: &form})
	p.change(roster.Change{
		Join: []roster.Member{{Incarnation: incarnations[0], API: "a:1"}, {Incarnation: incarnations[1], API: "b:1"}},
		Lose: []roster.Loss{{Partition: 0, Owner: incarnations[0], With: incarnations[1:]}},
	})
	p.raise(1_800_000_020_000)
	p.mono = 20 * time.Second // beyond the wait of an owner after a loss
	return p
}

func (p *pair) apply(c roster.Command) {
	next, err := p.roster.Apply(c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.roster = next
}

func (p *pair) change(c roster.Change) {
	p.apply(roster.Command{From: p.roster.Version, Change: &c})
	for _, m := range p.machines {
		m.Observe(p.view())
	}
}

func (p *pair) raise(to clustertime.Tick) {
	p.apply(roster.Command{From: p.roster.Version, Raise: &roster.Raise{Time: to}})
}

func (p *pair) view() partition.View {
	return partition.View{Roster: p.roster, Time: p.roster.Time, Mono: p.mono, Ended: p.ended}
}

// begun returns the reply to one more request, which must be called once.
func (p *pair) begun(what string) func(error) {
	p.requests++
	name := fmt.Sprintf("%s, request %d", what, p.requests)
	p.open[name] = true
	return func(error) {
		if !p.open[name] {
			p.t.Errorf("%s has a second reply", name)
		}
		delete(p.open, name)
	}
}

// carry brings a letter, and its answer into the mail.
func (p *pair) carry(l letter) {
	if l.answer {
		p.machines[l.owner].Delivered(p.view(), l.delivery, l.holds, l.err)
		return
	}
	l.answer = true
	l.holds, l.err = p.machines[1-l.owner].Accept(p.view(), l.delivery.Update)
	p.mail = append(p.mail, l)
}

// deliver carries everything until nothing is left.
func (p *pair) deliver() {
	for len(p.mail) > 0 {
		l := p.mail[0]
		p.mail = p.mail[1:]
		p.carry(l)
	}
}

// pass lets time pass at the first member.
func (p *pair) pass(d time.Duration) {
	for end := p.mono + d; p.mono < end; p.mono += partition.TickEvery {
		p.machines[0].Tick(p.view())
	}
}

func ref(t rapid.TB, name string, life byte) attachment.Ref {
	d, err := sequencer.Define(name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return attachment.Ref{Definition: d, Life: attachment.Life{life}}
}

func claim(r attachment.Ref, id byte) partition.Claim {
	return partition.Claim{Ref: r, ID: attachment.ID{id}, Preference: attachment.Preference{Any: true},
		Grid: roster.GridID{1}}
}

// TestHolderOfALaterClaim: an owner under an anchor that hears of no raises says nothing of
// a life to a holder under another claim of the anchor. Else one that was replaced unheard
// would tell the holder of a life that began since that it has ended (simulation of anchored
// grids, seed 393).
func TestHolderOfALaterClaim(t *testing.T) {
	p := newPair(t)
	m := p.machines[0]
	m.Create(p.view(), ref(t, "orders", 1), func(attachment.Ref, error) {})
	p.deliver()
	anchored := *p.roster
	anchored.Claim, anchored.Version = "01", p.roster.Version+1
	p.roster = &anchored
	m.Observe(p.view())
	for _, c := range []struct {
		since time.Duration // the last raise
		want  error
	}{{time.Second, sequencer.ErrDestroyed}, {window * time.Millisecond, sequencer.ErrUnavailable}} {
		view := p.view()
		view.Time = view.Time.Add(clustertime.SpanOf(c.since))
		other := claim(ref(t, "orders", 2), 7)
		other.Grid = roster.GridID{2}
		var attach, renewal error
		m.Attach(view, "h", other, func(_ attachment.Attachment, err error) { attach = err })
		m.Renew(view, "h", []partition.Claim{other},
			func(out []partition.Renewed, err error) { renewal = errors.Join(err, out[0].Err) })
		p.deliver()
		if !errors.Is(attach, c.want) || !errors.Is(renewal, c.want) {
			t.Errorf("%v after the last raise: %v, %v, want %v", c.since, attach, renewal, c.want)
		}
	}
}

// TestEveryRequestIsAnsweredOnce: every request is replied to once, whatever happens to the
// deliveries and to the owner; when the partition has no owner any longer, no request is
// left without a reply.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		r := ref(t, "orders", 1)
		at := func() (*partition.Machine, partition.View) {
			return p.machines[rapid.IntRange(0, 1).Draw(t, "member")], p.view()
		}
		id := func() byte { return rapid.ByteRange(1, 3).Draw(t, "attachment") }
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				m, v := at()
				done := p.begun("create")
				m.Create(v, r, func(_ attachment.Ref, err error) { done(err) })
			},
			"open": func(t *rapid.T) {
				m, v := at()
				done := p.begun("open")
				m.Open(v, "orders", func(_ attachment.Ref, err error) { done(err) })
			},
			"attach": func(t *rapid.T) {
				m, v := at()
				done := p.begun("attach")
				m.Attach(v, "h", claim(r, id()), func(_ attachment.Attachment, err error) { done(err) })
			},
			"renew": func(t *rapid.T) {
				m, v := at()
				done := p.begun("renew")
				m.Renew(v, "h", []partition.Claim{claim(r, id()), claim(r, 0)},
					func(_ []partition.Renewed, err error) { done(err) })
			},
			"renew set": func(t *rapid.T) {
				m, v := at()
				done := p.begun("renew set")
				m.RenewSet(v, "h", partition.ClaimSet{Count: 1}, func(_ clustertime.Tick, err error) { done(err) })
			},
			"detach": func(t *rapid.T) {
				m, v := at()
				m.Detach(v, "h", r, attachment.Release{ID: attachment.ID{id()}, LastUsed: 1_800_000_010_000}, p.begun("detach"))
			},
			"destroy": func(t *rapid.T) {
				m, v := at()
				m.Destroy(v, "orders", attachment.Life{}, p.begun("destroy"))
			},
			"carry": func(t *rapid.T) {
				if len(p.mail) == 0 {
					t.Skip("nothing is on its way")
				}
				i := rapid.IntRange(0, len(p.mail)-1).Draw(t, "letter")
				l := p.mail[i]
				p.mail = append(p.mail[:i:i], p.mail[i+1:]...)
				if rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
					l.answer, l.err = true, errors.New("lost")
				}
				p.carry(l)
			},
			"time": func(t *rapid.T) {
				p.mono += time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond
				for _, m := range p.machines {
					m.Tick(p.view())
				}
			},
			"take": func(t *rapid.T) {
				next := 0
				if p.roster.Partitions[0].Owner == incarnations[0] {
					next = 1
				}
				p.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: incarnations[next]}}})
			},
		})
		for _, m := range p.machines {
			m.Fail(roster.ErrWrongOwner)
		}
		if len(p.open) > 0 {
			t.Fatalf("no reply: %v", p.open)
		}
	})
}

// TestServes: who does not own the partition says so, and who has ended too.
func TestServes(t *testing.T) {
	p := newPair(t)
	if err := p.machines[0].Serves(p.view()); err != nil {
		t.Errorf("the owner: %v", err)
	}
	if err := p.machines[1].Serves(p.view()); !errors.Is(err, roster.ErrWrongOwner) {
		t.Errorf("the backup: %v", err)
	}
	p.ended = true
	if err := p.machines[0].Serves(p.view()); !errors.Is(err, sequencer.ErrClosed) {
		t.Errorf("an owner whose member has ended: %v", err)
	}
	unformed := partition.View{Roster: new(roster.Roster)}
	if err := partition.New(0, incarnations[0], 0, seat{p, 0}).Serves(unformed); !errors.Is(err,
		sequencer.ErrUnavailable) {
		t.Errorf("a member without a grid: %v", err)
	}
}

// TestExpiry: a holder that shows nothing for a window loses its logical node, and
// its handle gets no more events.
func TestExpiry(t *testing.T) {
	p := newPair(t)
	r := ref(t, "orders", 1)
	m := p.machines[0]
	m.Create(p.view(), r, func(have attachment.Ref, err error) { r = have })
	p.deliver()
	m.Attach(p.view(), "h", claim(r, 1), func(attachment.Attachment, error) {})
	p.deliver()
	p.pass((window - 500) * time.Millisecond)
	if n := len(m.Table().Tenants()); n != 1 || p.expired != 0 {
		t.Errorf("within a window, %d attachments and %d expired", n, p.expired)
	}
	p.pass(2 * time.Second)
	if n := len(m.Table().Tenants()); n != 0 || p.expired != 1 {
		t.Errorf("after more than a window, %d attachments and %d expired", n, p.expired)
	}
	if m.Ticks() {
		t.Error("there is still something that time does")
	}
}

// TestDestroyEndsInTime: holders are notified immediately, and a life whose holder does not
// release its node ends after a second, when the backup has the tombstone.
func TestDestroyEndsInTime(t *testing.T) {
	p := newPair(t)
	r := ref(t, "orders", 1)
	m := p.machines[0]
	m.Create(p.view(), r, func(have attachment.Ref, err error) { r = have })
	m.Attach(p.view(), "h", claim(r, 1), func(attachment.Attachment, error) {})
	p.deliver()
	var outcome error
	replied := false
	m.Destroy(p.view(), "orders", r.Life, func(err error) { outcome, replied = err, true })
	p.deliver()
	if p.told != 1 || replied {
		t.Errorf("holders were told %d times, the destroy was answered: %v", p.told, replied)
	}
	p.mono += time.Second
	m.Tick(p.view())
	if replied {
		t.Error("answered before the backup holds the mark")
	}
	p.deliver()
	if !replied || outcome != nil || p.told != 2 {
		t.Errorf("answered: %v with %v, holders told %d times", replied, outcome, p.told)
	}
	m.Open(p.view(), "orders", func(_ attachment.Ref, err error) { outcome = err })
	p.deliver()
	if !errors.Is(outcome, sequencer.ErrNotFound) {
		t.Errorf("open after it: %v", outcome)
	}
}

// TestClaimOfALaterVersionIsRejected: an owner says nothing of a life to a holder that was answered
// by a later roster than it knows. Else one that was replaced unheard would tell the
// holder of a life that began since that it has ended (simulation, seed 1260).
func TestClaimOfALaterVersionIsRejected(t *testing.T) {
	p := newPair(t)
	m := p.machines[0]
	m.Create(p.view(), ref(t, "orders", 1), func(attachment.Ref, error) {})
	p.deliver()
	for _, c := range []struct {
		known roster.Version
		want  error
	}{{p.roster.Version, sequencer.ErrDestroyed}, {p.roster.Version + 1, sequencer.ErrUnavailable}} {
		later := claim(ref(t, "orders", 2), 7)
		later.Version = c.known
		var attach, renewal error
		m.Attach(p.view(), "h", later, func(_ attachment.Attachment, err error) { attach = err })
		m.Renew(p.view(), "h", []partition.Claim{later},
			func(out []partition.Renewed, err error) { renewal = errors.Join(err, out[0].Err) })
		p.deliver()
		if !errors.Is(attach, c.want) || !errors.Is(renewal, c.want) {
			t.Errorf("answered at version %d of %d: %v, %v, want %v", c.known, p.roster.Version, attach, renewal, c.want)
		}
	}
}

// TestSessionsFollowTheWindow: the grid's window grows while the owner serves, and holders renew less often.
func TestSessionsFollowTheWindow(t *testing.T) {
	p := newLimitedPair(t)
	if _, err := p.attach("h", 1, "", partition.Quota{}); err != nil {
		t.Fatal(err)
	}
	p.change(roster.Change{Window: clustertime.SpanOf(5 * time.Minute)})
	p.pass(5*time.Minute - time.Second)
	if n := p.m.Table().Attached("orders"); n != 1 {
		t.Errorf("within the new window %d logical nodes are attached", n)
	}
	p.pass(2 * time.Second)
	if n := p.m.Table().Attached("orders"); n != 0 {
		t.Errorf("after it %d logical nodes are attached", n)
	}
}
