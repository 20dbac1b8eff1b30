package grid

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// owner runs one partition's replica: one goroutine that serves one request
// after the other. Before each it looks at the newest roster this member knows,
// so it never answers for a term that it has heard to be over.
type owner struct {
	m        *Member
	id       partition.ID
	replica  *backup.Replica[sequencer.TableState]
	table    *sequencer.Table
	sessions *sequencer.Sessions
	ending   map[string]*ending
	office   time.Duration // when it took office, by the member's clock
	inbox    chan func()
}

const (
	// inboxSize bounds the requests that wait for one partition.
	inboxSize = 256
	// tickEvery is how often an owner with sessions looks for expired ones.
	tickEvery = 250 * time.Millisecond
	// showTime is how long, beyond a renewal's pause, holders have to show
	// what a loss made their owner forget.
	showTime = 3 * time.Second
	// answerTime is how long a destroy waits for holders to say what they used.
	answerTime = time.Second
)

func newOwner(m *Member, id partition.ID) *owner {
	table := sequencer.NewTable()
	o := &owner{
		m: m, id: id, table: table,
		replica: backup.New(id, m.self, table),
		ending:  map[string]*ending{},
		inbox:   make(chan func(), inboxSize),
	}
	o.sessions = sequencer.NewSessions(0, m.clock.Mono())
	return o
}

// run serves requests until ctx ends.
func (o *owner) run(ctx context.Context) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		var tick <-chan time.Time
		if o.sessions.Len() > 0 || len(o.ending) > 0 {
			tick = ticker.C
		}
		select {
		case <-ctx.Done():
			return
		case f := <-o.inbox:
			f()
		case <-tick:
			o.tick()
		}
	}
}

// act looks whether this member may answer for the partition, and under which
// bounds. Everything an owner does begins with it.
func (o *owner) act() (*partition.Roster, sequencer.Bounds, error) {
	r := o.m.roster.Load()
	if int(o.id) >= len(r.Partitions) {
		return nil, sequencer.Bounds{}, fmt.Errorf("%w: the grid is not formed yet", sequencer.ErrUnavailable)
	}
	o.sessions.SetWindow(time.Duration(r.Settings.Window) * time.Millisecond)
	if o.replica.Observe(r.Version, r.Partitions[o.id]) {
		o.tookOffice()
	}
	if !o.replica.Acts() {
		o.fail(wire.ErrWrongOwner)
		return nil, sequencer.Bounds{}, wire.ErrWrongOwner
	}
	return r, sequencer.Bounds{Now: o.m.clock.Now(), Ceiling: r.Ceiling}, nil
}

// tookOffice begins the term's sessions: attachments taken over live for a
// window from now, unless their holders show them.
func (o *owner) tookOffice() {
	o.fail(wire.ErrWrongOwner)
	now := o.m.clock.Mono()
	o.office = now
	r := o.m.roster.Load()
	o.sessions = sequencer.NewSessions(time.Duration(r.Settings.Window)*time.Millisecond, now)
	for _, t := range o.table.Tenants() {
		o.sessions.Show(t, now)
	}
	o.m.log.Debug("took office", "partition", o.id, "term", o.replica.Position().Term)
}

// stamp is what every answer carries.
func (o *owner) stamp(r *partition.Roster, b sequencer.Bounds) wire.Stamp {
	return wire.Stamp{Grid: r.Grid, Version: r.Version, Time: b.Now}
}

// tick lets silent holders' attachments expire and overdue destroys go on.
func (o *owner) tick() {
	_, b, err := o.act()
	if err != nil {
		o.sessions = sequencer.NewSessions(0, o.m.clock.Mono())
		return
	}
	for _, t := range o.sessions.Expired(o.m.clock.Mono()) {
		if o.table.Expire(t.Name, t.Node, t.ID) {
			o.replica.Changed()
			o.m.log.Info("session ended; its logical node is free again",
				"partition", o.id, "sequencer", t.Name, "node", t.Node, "holder", t.Holder)
		}
	}
	o.endOverdue()
	if o.table.Fold(b.Now) {
		o.replica.Changed()
	}
}

// create returns a name's life, beginning one if there is none.
func (o *owner) create(in wire.CreateRequest) (wire.SequencerResponse, error) {
	ref, err := wire.Sequencer{Name: in.Name, Epoch: in.Epoch, Nodes: in.Nodes}.Ref()
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	if o.ending[in.Name] != nil {
		return wire.SequencerResponse{}, fmt.Errorf("sequencer %q: %w: it is being destroyed", in.Name, sequencer.ErrUnavailable)
	}
	if b.Now == 0 {
		return wire.SequencerResponse{}, errNoTime
	}
	if err := o.learning(r, b, in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	_, _ = rand.Read(ref.Life[:])
	at := o.replica.Position()
	ref.Born = sequencer.Birth{Term: uint64(at.Term), Number: at.Number + 1}
	ref, changed, err := o.table.Create(ref, b.Now)
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	if changed {
		o.replica.Changed()
	}
	return wire.SequencerResponse{Stamp: o.stamp(r, b), Sequencer: wire.SequencerOf(ref)}, nil
}

// learning refuses to say that a name is unknown while a loss may have made this
// owner forget it and its holders may not have shown it yet: a second life of the
// name would end the handles of the first. Nothing of the new life could be used
// before cluster time has reached the floor, so it costs nobody anything.
func (o *owner) learning(r *partition.Roster, b sequencer.Bounds, name string) error {
	p := r.Partitions[o.id]
	window := time.Duration(r.Settings.Window) * time.Millisecond
	if p.Term != p.LostTerm || b.Now >= p.Floor || o.m.clock.Mono()-o.office > window/4+showTime {
		return nil
	}
	if _, err := o.table.Open(name); err == nil {
		return nil
	}
	return fmt.Errorf("sequencer %q: %w: its partition was lost a moment ago; its holders are being asked", name, sequencer.ErrUnavailable)
}

// errNoTime is the answer of a member that does not know the cluster time yet.
var errNoTime = fmt.Errorf("%w: this member does not know the cluster time yet", sequencer.ErrUnavailable)

// open returns a name's life.
func (o *owner) open(in wire.OpenRequest) (wire.SequencerResponse, error) {
	r, b, err := o.act()
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	if err := o.learning(r, b, in.Name); err != nil {
		return wire.SequencerResponse{}, err
	}
	ref, err := o.table.Open(in.Name)
	if err != nil {
		return wire.SequencerResponse{}, err
	}
	return wire.SequencerResponse{Stamp: o.stamp(r, b), Sequencer: wire.SequencerOf(ref)}, nil
}

// attach gives a holder a logical node.
func (o *owner) attach(in wire.AttachRequest) (wire.AttachResponse, error) {
	ref, err := in.Claim.Sequencer.Ref()
	if err == nil {
		err = checkAttachment(in.Holder, in.Claim)
	}
	if err != nil {
		return wire.AttachResponse{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.AttachResponse{}, err
	}
	name := ref.Definition.Name()
	if o.ending[name] != nil {
		return wire.AttachResponse{}, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	if err := o.checkEarlier(r, b, in.Claim); err != nil {
		return wire.AttachResponse{}, err
	}
	c := o.claim(r, ref, in.Claim)
	if in.Claim.Node == nil {
		c.Preference = sequencer.Preference{Any: true}
	}
	a, changed, err := o.table.Attach(c, b)
	if err != nil {
		return wire.AttachResponse{}, err
	}
	if changed {
		o.replica.Changed()
	}
	o.show(in.Holder, name, a)
	return wire.AttachResponse{Stamp: o.stamp(r, b), Node: a.Node, Grant: a.Grant}, nil
}

// checkAttachment refuses a request that names no attachment.
func checkAttachment(h sequencer.HolderID, c wire.Claim) error {
	if err := wire.CheckHolder(h); err != nil {
		return err
	}
	if c.ID.IsZero() {
		return fmt.Errorf("%w: the attachment ID is zero; give 128 random bits, new for each attach", sequencer.ErrInvalidConfig)
	}
	return nil
}

// claim is what the table needs to know of a wire claim. What was shown may be
// about a life that a loss made the grid forget.
func (o *owner) claim(r *partition.Roster, ref sequencer.Ref, in wire.Claim) sequencer.Claim {
	lost := partition.Version(r.Partitions[o.id].LostTerm)
	c := sequencer.Claim{Ref: ref, ID: in.ID, Forgotten: in.Grid != r.Grid || in.Version < lost}
	if in.Node != nil {
		c.Node = *in.Node
	}
	return c
}

// show notes that a holder showed an attachment.
func (o *owner) show(h sequencer.HolderID, name string, a sequencer.Attachment) {
	o.sessions.Show(sequencer.Tenant{ID: a.ID, Holder: h, Name: name, Node: a.Node}, o.m.clock.Mono())
}

// renew extends one claim's grant.
func (o *owner) renew(h sequencer.HolderID, in wire.Claim) (wire.Stamp, sequencer.Grant, error) {
	ref, err := in.Sequencer.Ref()
	if err != nil {
		return wire.Stamp{}, sequencer.Grant{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.Stamp{}, sequencer.Grant{}, err
	}
	if err := o.checkEarlier(r, b, in); err != nil {
		return wire.Stamp{}, sequencer.Grant{}, err
	}
	name := ref.Definition.Name()
	if e := o.ending[name]; e != nil && e.ref.Life == ref.Life {
		// It missed the event; this tells it as well, and it gives back what it has.
		return wire.Stamp{}, sequencer.Grant{}, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	}
	c := o.claim(r, ref, in)
	var a sequencer.Attachment
	var changed bool
	if in.ID.IsZero() {
		changed, err = o.table.Known(c)
	} else {
		a, changed, err = o.table.Renew(c, b)
	}
	if err != nil {
		return wire.Stamp{}, sequencer.Grant{}, err
	}
	if changed {
		o.replica.Changed()
	}
	o.show(h, name, a)
	return o.stamp(r, b), a.Grant, nil
}

// detach takes a logical node back.
func (o *owner) detach(in wire.DetachRequest) (wire.Done, error) {
	ref, err := in.Sequencer.Ref()
	if err == nil {
		err = wire.CheckHolder(in.Holder)
	}
	if err != nil {
		return wire.Done{}, err
	}
	r, b, err := o.act()
	if err != nil {
		return wire.Done{}, err
	}
	rel := sequencer.Release{ID: in.ID, Node: in.Node, LastUsed: in.LastUsed}
	if o.table.Detach(ref, rel) {
		o.replica.Changed()
	}
	o.sessions.Drop(in.ID)
	name := ref.Definition.Name()
	if o.ending[name] == nil {
		o.show(in.Holder, name, sequencer.Attachment{}) // the handle is still there, Detached
	} else {
		o.endIfSilent(name)
	}
	return wire.Done{Stamp: o.stamp(r, b)}, nil
}
