package grid

import (
	"context"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// actor runs this member's replica of one partition: one goroutine that serves
// one request after the other. Before each it looks at the newest roster this
// member knows, so it never answers for a term that it has heard to be over.
// After each it sends what the other replicas need, and the answers that they
// hold. It serves one grid: it ends when the member leaves that.
type actor struct {
	m        *Member
	stay     *stay
	id       partition.ID
	copy     *backup.Replica[sequencer.TableState, sequencer.TableChange]
	table    *sequencer.Table
	sessions *sequencer.Sessions
	ending   map[string]*ending
	given    givenBack
	office   time.Duration // when it took office, by the member's clock

	held   []heldAnswer // answers that wait for the other replicas
	after  uint64       // what all have to hold before the answer under way may leave
	unheld unheld
	// questions counts what the other replicas were asked besides.
	questions uint64
	senders   map[partition.Incarnation]*sender
	asked     partition.Holding // the admission asked for last
	partial   partial

	inbox chan func()
	nudge chan struct{} // the roster says something new
}

const (
	// inboxSize bounds the requests that wait for one partition.
	inboxSize = 256
	// heldSize bounds the answers of one partition that wait for replicas.
	heldSize = 4096
	// tickEvery is how often an owner with sessions looks for expired ones.
	tickEvery = 250 * time.Millisecond
)

func newActor(m *Member, id partition.ID) *actor {
	table := sequencer.NewTable()
	return &actor{
		m: m, stay: m.stay.Load(), id: id, table: table,
		copy:     backup.New(id, m.self, table),
		sessions: sequencer.NewSessions(0, m.clock.Mono()),
		ending:   map[string]*ending{},
		given:    givenBack{},
		unheld:   newUnheld(),
		senders:  map[partition.Incarnation]*sender{},
		inbox:    make(chan func(), inboxSize),
		nudge:    make(chan struct{}, 1),
	}
}

// run serves requests until ctx ends.
func (o *actor) run(ctx context.Context) {
	defer o.fail(wire.ErrWrongOwner)
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		o.observe(o.m.roster.Load())
		o.settle()
		var tick <-chan time.Time
		if o.sessions.Len() > 0 || len(o.ending) > 0 || len(o.given) > 0 {
			tick = ticker.C
		}
		select {
		case <-ctx.Done():
			return
		case f := <-o.inbox:
			f()
		case <-o.nudge:
		case <-tick:
			o.tick()
		}
	}
}

// observe shows a roster to the replica.
func (o *actor) observe(r *partition.Roster) {
	if int(o.id) >= len(r.Partitions) {
		return
	}
	if o.copy.Observe(r.Version, r.Partitions[o.id]) {
		o.tookOffice(r)
	}
}

// act looks whether this member may answer for the partition, and under which
// bounds. Everything an owner does begins with it.
func (o *actor) act() (*partition.Roster, sequencer.Bounds, error) {
	r := o.m.roster.Load()
	if int(o.id) >= len(r.Partitions) {
		return nil, sequencer.Bounds{}, fmt.Errorf("%w: the grid is not formed yet", sequencer.ErrUnavailable)
	}
	o.observe(r)
	if o.m.ended.Load() {
		return nil, sequencer.Bounds{}, errClosed
	}
	if !o.copy.Acts() {
		return nil, sequencer.Bounds{}, wire.ErrWrongOwner
	}
	// A clock that runs ahead of the ceiling must not begin grants up there: they
	// would be empty, and stay so for as long under a later owner.
	return r, sequencer.Bounds{Now: min(o.m.clock.Now(), r.Ceiling), Ceiling: r.Ceiling}, nil
}

// tookOffice begins the term's sessions: attachments taken over live for a
// window from now, unless their holders show them.
func (o *actor) tookOffice(r *partition.Roster) {
	o.fail(wire.ErrWrongOwner)
	now := o.m.clock.Mono()
	o.office = now
	o.unheld = newUnheld()
	o.sessions = sequencer.NewSessions(time.Duration(r.Settings.Window)*time.Millisecond, now)
	for _, t := range o.table.Tenants() {
		o.sessions.Show(t, now)
	}
	o.m.log.Debug("took office", "partition", o.id, "term", o.copy.Position().Term)
}

// settle does what follows from whatever has just happened.
func (o *actor) settle() {
	if !o.copy.Acts() {
		o.fail(wire.ErrWrongOwner)
		if o.sessions.Len() > 0 {
			o.sessions = sequencer.NewSessions(0, o.m.clock.Mono())
		}
		return
	}
	o.replicate()
	o.release()
	o.askAdmission()
}

// fail gives up every destroy under way and every answer that is held.
func (o *actor) fail(err error) {
	for name, e := range o.ending {
		delete(o.ending, name)
		for _, done := range e.waiting {
			done <- err
		}
	}
	held := o.held
	o.held = nil
	for _, h := range held {
		h.send(err)
	}
}
