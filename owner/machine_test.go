package owner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/owner"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

const window = 15_000

var incarnations = []partition.Incarnation{"aaaaaaaaaaaaaaaa-0000000000000001", "bbbbbbbbbbbbbbbb-0000000000000001"}

// pair is two members' machines of one partition, and what the test carries between
// them, or does not.
type pair struct {
	t        rapid.TB
	roster   *partition.Roster
	machines []*owner.Machine
	mail     []letter
	mono     time.Duration
	ended    bool
	told     int
	expired  int
	open     map[string]bool // requests without a reply yet
	requests int
}

// letter is a delivery on its way, or the answer to one.
type letter struct {
	owner    int
	delivery owner.Delivery
	answer   bool
	holds    owner.Holds
	err      error
}

// seat is a machine's member.
type seat struct {
	p *pair
	i int
}

func (s seat) Send(d owner.Delivery)                         { s.p.mail = append(s.p.mail, letter{owner: s.i, delivery: d}) }
func (s seat) TellEnded([]sequencer.HolderID, sequencer.Ref) { s.p.told++ }
func (s seat) ReportHeld(partition.Holding)                  {}
func (s seat) ReportEarlier(partition.Tick)                  {}
func (s seat) TookOffice(partition.ID, partition.Term)       {}
func (s seat) Expired(id partition.ID, t sequencer.Tenant)   { s.p.expired++ }

func (s seat) Store(owner.Write)                                          {}
func (s seat) ReportStored(partition.Incarnation, backup.Position)        {}
func (s seat) Collect(owner.Collection)                                   {}
func (s seat) ReportPersisted(partition.Persisted)                        {}
func (s seat) DefinitionsCollected(partition.ID, partition.MemberID, int) {}

func newPair(t rapid.TB) *pair {
	p := &pair{t: t, roster: new(partition.Roster), open: map[string]bool{}}
	for i, inc := range incarnations {
		p.machines = append(p.machines, owner.New(0, inc, 0, seat{p, i}))
	}
	form := partition.Form{Grid: partition.GridID{1}, Ceiling: 1_800_000_000_000, Settings: partition.Settings{Name: "g", Partitions: 1, Backups: 1, Window: window}}
	p.apply(partition.Command{Form: &form})
	p.change(partition.Change{
		Join: []partition.Member{{Incarnation: incarnations[0], API: "a:1"}, {Incarnation: incarnations[1], API: "b:1"}},
		Lose: []partition.Loss{{Partition: 0, Owner: incarnations[0], With: incarnations[1:]}},
	})
	p.raise(1_800_000_020_000)
	p.mono = 20 * time.Second // beyond what a loss makes an owner wait for
	return p
}

func (p *pair) apply(c partition.Command) {
	next, err := p.roster.Apply(c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.roster = next
}

func (p *pair) change(c partition.Change) {
	p.apply(partition.Command{From: p.roster.Version, Change: &c})
	for _, m := range p.machines {
		m.Observe(p.view())
	}
}

func (p *pair) raise(to partition.Tick) {
	p.apply(partition.Command{From: p.roster.Version, Raise: &partition.Raise{Time: to}})
}

func (p *pair) view() owner.View {
	return owner.View{Roster: p.roster, Time: p.roster.Time, Mono: p.mono, Ended: p.ended}
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
	for end := p.mono + d; p.mono < end; p.mono += owner.TickEvery {
		p.machines[0].Tick(p.view())
	}
}

func ref(t rapid.TB, name string, life byte) sequencer.Ref {
	d, err := sequencer.Define(name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sequencer.Ref{Definition: d, Life: sequencer.Life{life}}
}

func claim(r sequencer.Ref, id byte) owner.Claim {
	return owner.Claim{Ref: r, ID: sequencer.AttachmentID{id}, Preference: sequencer.Preference{Any: true}, Grid: partition.GridID{1}}
}

// TestRepliesOnce: every request is replied to once, whatever happens to the
// deliveries and to the owner; when nobody owns the partition any more nothing is
// left without a reply.
func TestRepliesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		r := ref(t, "orders", 1)
		at := func() (*owner.Machine, owner.View) {
			return p.machines[rapid.IntRange(0, 1).Draw(t, "member")], p.view()
		}
		id := func() byte { return rapid.ByteRange(1, 3).Draw(t, "attachment") }
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				m, v := at()
				done := p.begun("create")
				m.Create(v, r, func(_ sequencer.Ref, err error) { done(err) })
			},
			"open": func(t *rapid.T) {
				m, v := at()
				done := p.begun("open")
				m.Open(v, "orders", func(_ sequencer.Ref, err error) { done(err) })
			},
			"attach": func(t *rapid.T) {
				m, v := at()
				done := p.begun("attach")
				m.Attach(v, "h", claim(r, id()), func(_ sequencer.Attachment, err error) { done(err) })
			},
			"renew": func(t *rapid.T) {
				m, v := at()
				done := p.begun("renew")
				m.Renew(v, "h", []owner.Claim{claim(r, id()), claim(r, 0)}, func(_ []owner.Renewed, err error) { done(err) })
			},
			"renew set": func(t *rapid.T) {
				m, v := at()
				done := p.begun("renew set")
				m.RenewSet(v, "h", owner.ClaimSet{Count: 1}, func(_ sequencer.Tick, err error) { done(err) })
			},
			"detach": func(t *rapid.T) {
				m, v := at()
				m.Detach(v, "h", r, sequencer.Release{ID: sequencer.AttachmentID{id()}, LastUsed: 1_800_000_010_000}, p.begun("detach"))
			},
			"destroy": func(t *rapid.T) {
				m, v := at()
				m.Destroy(v, "orders", sequencer.Life{}, p.begun("destroy"))
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
				p.change(partition.Change{Take: []partition.Replica{{Partition: 0, Member: incarnations[next]}}})
			},
		})
		for _, m := range p.machines {
			m.Fail(partition.ErrWrongOwner)
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
	if err := p.machines[1].Serves(p.view()); !errors.Is(err, partition.ErrWrongOwner) {
		t.Errorf("the backup: %v", err)
	}
	p.ended = true
	if err := p.machines[0].Serves(p.view()); !errors.Is(err, sequencer.ErrClosed) {
		t.Errorf("an owner whose member has ended: %v", err)
	}
	unformed := owner.View{Roster: new(partition.Roster)}
	if err := owner.New(0, incarnations[0], 0, seat{p, 0}).Serves(unformed); !errors.Is(err, sequencer.ErrUnavailable) {
		t.Errorf("a member without a grid: %v", err)
	}
}

// TestExpiry: a holder that shows nothing for a window loses its logical node, and
// its handle is told of nothing any more.
func TestExpiry(t *testing.T) {
	p := newPair(t)
	r := ref(t, "orders", 1)
	m := p.machines[0]
	m.Create(p.view(), r, func(have sequencer.Ref, err error) { r = have })
	p.deliver()
	m.Attach(p.view(), "h", claim(r, 1), func(sequencer.Attachment, error) {})
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

// TestDestroyEndsInTime: holders are told at once, and a life whose holder gives
// nothing back ends after a second, when the backup holds its mark.
func TestDestroyEndsInTime(t *testing.T) {
	p := newPair(t)
	r := ref(t, "orders", 1)
	m := p.machines[0]
	m.Create(p.view(), r, func(have sequencer.Ref, err error) { r = have })
	m.Attach(p.view(), "h", claim(r, 1), func(sequencer.Attachment, error) {})
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
	m.Open(p.view(), "orders", func(_ sequencer.Ref, err error) { outcome = err })
	p.deliver()
	if !errors.Is(outcome, sequencer.ErrNotFound) {
		t.Errorf("open after it: %v", outcome)
	}
}

// TestHolderKnowsMore: an owner says nothing of a life to a holder that was answered
// by a later roster than it knows. Else one that was replaced unheard would tell the
// holder of a life that began since that it has ended (simulation, seed 1260).
func TestHolderKnowsMore(t *testing.T) {
	p := newPair(t)
	m := p.machines[0]
	m.Create(p.view(), ref(t, "orders", 1), func(sequencer.Ref, error) {})
	p.deliver()
	for _, c := range []struct {
		known partition.Version
		want  error
	}{{p.roster.Version, sequencer.ErrDestroyed}, {p.roster.Version + 1, sequencer.ErrUnavailable}} {
		later := claim(ref(t, "orders", 2), 7)
		later.Version = c.known
		var attach, renewal error
		m.Attach(p.view(), "h", later, func(_ sequencer.Attachment, err error) { attach = err })
		m.Renew(p.view(), "h", []owner.Claim{later}, func(out []owner.Renewed, err error) { renewal = errors.Join(err, out[0].Err) })
		p.deliver()
		if !errors.Is(attach, c.want) || !errors.Is(renewal, c.want) {
			t.Errorf("answered at version %d of %d: %v, %v, want %v", c.known, p.roster.Version, attach, renewal, c.want)
		}
	}
}
