package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// actor runs a member's replica of one partition, as the actor of package grid
// does: the same machines, driven in the same order, without the goroutine.
type actor struct {
	m        *member
	id       partition.ID
	copy     *backup.Replica[sequencer.TableState, sequencer.TableChange]
	table    *sequencer.Table
	sessions *sequencer.Sessions
	ending   map[string]*ending
	given    map[sequencer.AttachmentID]time.Duration
	office   time.Duration

	held      []heldAnswer
	after     uint64 // what all have to hold before the answer under way may leave
	unheld    map[unheldKey]uint64
	questions uint64
	senders   map[partition.Incarnation]*sender
	asked     partition.Holding
}

// unheldKey is a name, or one attachment of it, that was changed.
type unheldKey struct {
	name string
	id   sequencer.AttachmentID
}

// heldAnswer waits until everybody needed holds what it rests on (O4).
type heldAnswer struct {
	number   uint64
	question uint64
	send     func(error)
}

// sender is one replica that is sent something, one request at a time.
type sender struct {
	busy            bool
	pause           time.Duration
	asked, answered uint64
}

const (
	tickEvery  = 250 * time.Millisecond
	firstPause = 20 * time.Millisecond
	lastPause  = 400 * time.Millisecond
	wholeTable = ^uint64(0)
	// heldSize is smaller than a real owner's: here nobody takes back what nobody
	// waits for any more.
	heldSize = 64
)

var errWrongOwner = errors.New("sim: another member is the owner")

func newActor(m *member, id partition.ID) *actor {
	table := sequencer.NewTable()
	return &actor{
		m: m, id: id, table: table, copy: backup.New(id, m.inc, table),
		sessions: sequencer.NewSessions(0, m.Mono()),
		ending:   map[string]*ending{}, given: map[sequencer.AttachmentID]time.Duration{},
		unheld: map[unheldKey]uint64{}, senders: map[partition.Incarnation]*sender{},
	}
}

// do serves one request, between two looks at the newest roster.
func (o *actor) do(serve func()) {
	o.observe()
	serve()
	o.observe()
	o.settle()
}

func (o *actor) observe() {
	r := o.m.roster
	if int(o.id) >= len(r.Partitions) {
		return
	}
	if o.copy.Observe(r.Version, r.Partitions[o.id]) {
		o.tookOffice(r)
	}
}

// act looks whether this member may answer for the partition, and under which
// bounds.
func (o *actor) act() (*partition.Roster, sequencer.Bounds, error) {
	r := o.m.roster
	o.observe()
	if o.m.ended || !o.copy.Acts() {
		return nil, sequencer.Bounds{}, errWrongOwner
	}
	ceiling := r.Ceiling
	if o.m.g.cfg.Baseline == Quorum {
		ceiling = o.m.Now() + r.Settings.Window // everybody for himself
	}
	return r, sequencer.Bounds{Now: min(o.m.Now(), ceiling), Ceiling: ceiling}, nil
}

func (o *actor) tookOffice(r *partition.Roster) {
	o.fail(errWrongOwner)
	now := o.m.Mono()
	o.office = now
	clear(o.unheld)
	patience := time.Duration(r.Settings.Window) * time.Millisecond
	if o.m.g.cfg.Baseline == Reuse {
		patience /= 2
	}
	o.sessions = sequencer.NewSessions(patience, now)
	for _, t := range o.table.Tenants() {
		o.sessions.Show(t, now)
	}
	o.m.w.note(tookOffice, o.m.name, int64(o.id), int64(o.copy.Position().Term))
}

// settle does what follows from whatever has just happened.
func (o *actor) settle() {
	if !o.copy.Acts() {
		o.fail(errWrongOwner)
		if o.sessions.Len() > 0 {
			o.sessions = sequencer.NewSessions(0, o.m.Mono())
		}
		return
	}
	o.replicate()
	o.release()
	if h, ready := o.copy.Admission(); ready && h != o.asked {
		o.asked = h
		o.m.report(o, h)
	}
}

// fail gives up every destroy under way and every answer that is held.
func (o *actor) fail(err error) {
	for _, name := range o.endings() {
		e := o.ending[name]
		delete(o.ending, name)
		for _, done := range e.waiting {
			done(err)
		}
	}
	held := o.held
	o.held = nil
	for _, h := range held {
		h.send(err)
	}
}

// hold sends an answer once everybody needed holds what it rests on.
func (o *actor) hold(h heldAnswer) {
	switch {
	case len(o.held) == 0 && o.allHold(h):
		h.send(nil)
	case len(o.held) >= heldSize:
		h.send(sequencer.ErrUnavailable)
	default:
		o.held = append(o.held, h)
	}
}

func (o *actor) allHold(h heldAnswer) bool {
	unasked := func(i partition.Incarnation) bool {
		s := o.senders[i]
		return h.question > 0 && (s == nil || s.answered < h.question)
	}
	return o.copy.Holds(h.number) && !slices.ContainsFunc(o.copy.Needed(), unasked)
}

// release sends the answers that waited long enough.
func (o *actor) release() {
	if len(o.held) == 0 {
		return
	}
	held := o.held
	o.held = nil
	for _, h := range held {
		if o.allHold(h) {
			h.send(nil)
		} else {
			o.held = append(o.held, h)
		}
	}
}

// changed numbers a change of a name, and of an attachment unless that is zero.
func (o *actor) changed(name string, id sequencer.AttachmentID) {
	if number := o.copy.Changed().Number; !o.copy.Holds(number) {
		o.unheld[unheldKey{name, id}] = number
	}
}

// replicate sends everybody needed what it lacks.
func (o *actor) replicate() {
	for _, to := range o.copy.Needed() {
		s := o.senders[to]
		if s == nil {
			s = &sender{pause: firstPause}
			o.senders[to] = s
		}
		if s.busy {
			continue
		}
		if u, due := o.copy.Update(to); due || s.answered < o.questions {
			s.busy, s.asked = true, o.questions
			o.send(to, u)
		}
	}
}

type update = backup.Update[sequencer.TableState, sequencer.TableChange]

// holds is what a replica says that it has.
type holds struct {
	held   backup.Position
	newest partition.Term
	gap    bool
	failed bool
}

func (o *actor) send(to partition.Incarnation, u update) {
	peer := o.m.g.members[to]
	call(&o.m.process, &peer.process, time.Second,
		func(reply func(holds)) {
			if int(o.id) >= len(peer.roster.Partitions) {
				return // it does not know of the grid yet
			}
			p := peer.actorOf(o.id)
			p.do(func() { reply(p.accept(u)) })
		},
		func(res holds, err error) {
			if err != nil || res.failed {
				s := o.senders[to]
				pause := s.pause
				s.pause = min(2*s.pause, lastPause)
				o.m.after(pause, func() { o.do(func() { s.busy = false }) })
				return
			}
			o.do(func() { o.sent(to, u.Version, res) })
		})
}

// sent notes a replica's answer.
func (o *actor) sent(to partition.Incarnation, v partition.Version, res holds) {
	s := o.senders[to]
	s.busy = false
	o.copy.Heard(res.newest)
	if res.gap {
		o.copy.Behind(to)
		return
	}
	s.pause, s.answered = firstPause, s.asked
	o.copy.Acknowledged(to, v, res.held)
	for key, number := range o.unheld {
		if o.copy.Holds(number) {
			delete(o.unheld, key)
		}
	}
}

// accept takes what another owner sends.
func (o *actor) accept(u update) holds {
	_, err := o.copy.Accept(u)
	return holds{
		held: o.copy.Position(), newest: o.copy.Newest(), gap: errors.Is(err, backup.ErrGap),
		failed: err != nil && !errors.Is(err, backup.ErrGap) && !errors.Is(err, backup.ErrOldTerm),
	}
}
