package partition_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// machines are members' machines of one partition with their disks, and everything
// that is on its way between them: a test carries it, or does not.
type machines struct {
	t       rapid.TB
	roster  *roster.Roster
	members []*diskMember
	mail    []message
	cut     bool // no update arrives
	mono    time.Duration
	lives   byte
	settled []roster.Persisted // that the leader was told
	told    []string           // names whose end holders were told of
}

// diskMember is a member: its disk, and the process that runs.
type diskMember struct {
	*machines
	id      roster.MemberID
	durable bool
	starts  int
	inc     roster.Incarnation
	machine *partition.Machine
	known   *roster.Roster // the newest that it has applied
	disk    map[string]partition.DefinitionRecord
	writes  []partition.Write
	// collected are the numbers of names that were reported after collections.
	collected []int
}

// message is one thing on its way, or to be done.
type message struct {
	what     string // deliver, answer, stored, collect, collected, write
	from, to roster.Incarnation
	carry    func()
}

func newMachines(t rapid.TB, durable ...bool) *machines {
	n := &machines{t: t, roster: new(roster.Roster)}
	n.apply(roster.Command{Form: &roster.Form{
		Grid: roster.GridID{1}, Ceiling: 1_800_000_000_000,
		Settings: roster.Settings{Name: "g", Partitions: 1, Backups: len(durable) - 1, Window: window},
	}})
	for i, d := range durable {
		m := &diskMember{machines: n, id: roster.MemberID(fmt.Sprintf("%016x", 0xa+i)), durable: d,
			disk: map[string]partition.DefinitionRecord{}}
		n.members = append(n.members, m)
		m.start()
	}
	n.mono = 20 * time.Second
	return n
}

// start starts the member's process, which has nothing but the disk.
func (m *diskMember) start() {
	m.starts++
	m.inc = roster.Incarnation(fmt.Sprintf("%s-%016x", m.id, m.starts))
	m.machine, m.writes, m.known = partition.New(0, m.inc, m.mono, m), nil, m.roster
	m.mail = slices.DeleteFunc(m.mail, func(l message) bool { return l.from.Member() == m.id && l.what != "collected" })
}

func (m *diskMember) record() roster.Member {
	return roster.Member{Incarnation: m.inc, API: "x:1", Durable: m.durable}
}

func (n *machines) apply(c roster.Command) {
	n.t.Helper()
	if c.Claim = n.roster.Claim; c.Claim != "" && c.Raise != nil {
		c.Raise.Limit = c.Raise.Time + 2*window
	}
	next, err := n.roster.Apply(c)
	if err != nil {
		n.t.Fatal(err)
	}
	n.roster = next
}

// change changes the roster without telling the machines.
func (n *machines) change(c roster.Change) {
	n.t.Helper()
	n.apply(roster.Command{From: n.roster.Version, Change: &c})
}

// learn shows members the newest roster.
func (n *machines) learn(members ...int) {
	for _, i := range members {
		m := n.members[i]
		m.known = n.roster
		m.machine.Observe(m.view())
	}
}

// begin makes the given members the replicas of a partition that was lost, the first
// of them the owner, and all members know it.
func (n *machines) begin(replicas ...int) {
	n.t.Helper()
	n.lose(replicas...)
	n.learn(n.all()...)
}

func (n *machines) lose(replicas ...int) {
	n.t.Helper()
	var join []roster.Member
	for _, i := range replicas {
		if _, in := n.roster.Member(n.members[i].inc); !in {
			join = append(join, n.members[i].record())
		}
	}
	loss := roster.Loss{Owner: n.members[replicas[0]].inc}
	for _, i := range replicas[1:] {
		loss.With = append(loss.With, n.members[i].inc)
	}
	n.change(roster.Change{Join: join, Lose: []roster.Loss{loss}})
	n.apply(roster.Command{From: n.roster.Version, Raise: &roster.Raise{Time: n.roster.Ceiling + 20_000}})
}

func (n *machines) all() []int {
	var out []int
	for i := range n.members {
		out = append(out, i)
	}
	return out
}

func (m *diskMember) view() partition.View {
	return partition.View{Roster: m.known, Time: m.known.Time, Mono: m.mono}
}

func (n *machines) send(what string, from, to roster.Incarnation, carry func()) {
	n.mail = append(n.mail, message{what, from, to, carry})
}

// peer returns a running process, nil if it has ended.
func (n *machines) peer(inc roster.Incarnation) *diskMember {
	for _, m := range n.members {
		if m.inc == inc {
			return m
		}
	}
	return nil
}

func (m *diskMember) Send(d partition.Delivery) {
	self := m.inc
	answer := func(h partition.Holds, err error) {
		m.send("answer", d.To, self, func() {
			if m.inc == self {
				m.machine.Delivered(m.view(), d, h, err)
			}
		})
	}
	m.send("deliver", self, d.To, func() {
		peer := m.peer(d.To)
		if peer == nil || m.cut {
			answer(partition.Holds{}, errors.New("it has ended"))
			return
		}
		answer(peer.machine.Accept(peer.view(), d.Update))
	})
}

func (m *diskMember) Store(w partition.Write) {
	self := m.inc
	m.writes = append(m.writes, w)
	m.send("write", self, self, func() {
		if m.inc != self {
			return
		}
		m.write(m.writes[0])
		m.writes = m.writes[1:]
		m.machine.Stored(m.view(), w.Position, nil)
	})
}

// write brings a write to the disk.
func (m *diskMember) write(w partition.Write) {
	if w.Whole != nil {
		clear(m.disk)
		for _, r := range w.Whole.Records {
			m.disk[r.Ref.Definition.Name()] = r
		}
	}
	for _, r := range w.Changed {
		m.disk[r.Ref.Definition.Name()] = r
	}
	for _, name := range w.Removed {
		delete(m.disk, name)
	}
}

// definitions returns the definitions on the disk, or in the memory of a member without one.
func (m *diskMember) definitions() partition.Definitions {
	if !m.durable {
		d, _ := m.machine.Kept()
		return d
	}
	var d partition.Definitions
	for _, name := range slices.Sorted(maps.Keys(m.disk)) {
		d.Records = append(d.Records, m.disk[name])
	}
	return d
}

func (m *diskMember) ReportStored(to roster.Incarnation, p backup.Position) {
	from := m.inc
	m.send("stored", from, to, func() {
		if peer := m.peer(to); peer != nil {
			peer.machine.StoredBy(peer.view(), from, p)
		}
	})
}

func (m *diskMember) Collect(c partition.Collection) {
	self := m.inc
	m.send("collect", self, "", func() {
		answer := func(d partition.Definitions, err error) {
			m.send("collected", "", self, func() {
				if m.inc == self {
					m.machine.Collected(m.view(), c, d, err)
				}
			})
		}
		for _, peer := range m.members {
			if peer.id == c.From {
				err := peer.machine.ShowDisk(peer.view(), c)
				answer(peer.definitions(), err)
				return
			}
		}
	})
}

func (m *diskMember) DefinitionsCollected(_ roster.PartitionID, _ roster.MemberID, names int) {
	m.collected = append(m.collected, names)
}
func (m *diskMember) ReportPersisted(p roster.Persisted)           { m.settled = append(m.settled, p) }
func (m *diskMember) ReportHeld(roster.Holding)                    {}
func (m *diskMember) ReportEarlier(clustertime.Tick)               {}
func (m *diskMember) BecameOwner(roster.PartitionID, roster.Term)  {}
func (m *diskMember) Expired(roster.PartitionID, partition.Tenant) {}
func (m *diskMember) TellEnded(_ []attachment.HolderID, r attachment.Ref) {
	m.told = append(m.told, r.Definition.Name())
}

// carry carries all messages of some kinds, all kinds if none is named, until none is
// left. Whatever they cause is carried as well.
func (n *machines) carry(kinds ...string) {
	for {
		i := slices.IndexFunc(n.mail, func(l message) bool { return len(kinds) == 0 || slices.Contains(kinds, l.what) })
		if i < 0 {
			return
		}
		l := n.mail[i]
		n.mail = slices.Delete(n.mail, i, i+1)
		l.carry()
	}
}

// lost drops all messages of a kind.
func (n *machines) lost(kind string) {
	n.mail = slices.DeleteFunc(n.mail, func(l message) bool { return l.what == kind })
}

// settle has the leader name the disks that an owner reported at this version, and all
// members learn it. It reports whether there was anything to name.
func (n *machines) settle() bool {
	n.t.Helper()
	for _, p := range n.settled {
		if p.Version == n.roster.Version {
			n.change(roster.Change{Persist: []roster.PartitionID{p.Partition}})
			n.learn(n.all()...)
			return true
		}
	}
	return false
}

// run carries and settles until nothing is left to do.
func (n *machines) run() {
	n.t.Helper()
	for n.carry(); n.settle(); n.carry() {
	}
}

// tick lets time pass at every member.
func (n *machines) tick(d time.Duration) {
	for end := n.mono + d; n.mono < end; {
		n.mono += partition.TickEvery
		for _, m := range n.members {
			m.machine.Tick(m.view())
		}
	}
}

// outcome is the reply to a request; a second one fails the test.
type outcome struct {
	t       rapid.TB
	what    string
	replied bool
	ref     attachment.Ref
	err     error
}

func (o *outcome) reply(r attachment.Ref, err error) {
	if o.replied {
		o.t.Errorf("%s has a second reply", o.what)
	}
	o.replied, o.ref, o.err = true, r, err
}

// is fails the test if the reply is not the expected one.
func (o *outcome) is(replied bool, want error) {
	o.t.Helper()
	if o.replied != replied || !errors.Is(o.err, want) && (o.err != nil || want != nil) {
		o.t.Errorf("%s: replied %v with %v, want %v with %v", o.what, o.replied, o.err, replied, want)
	}
}

func (n *machines) create(i int, name string) *outcome {
	m := n.members[i]
	n.lives++
	o := &outcome{t: n.t, what: "create " + name}
	m.machine.Create(m.view(), ref(n.t, name, n.lives), o.reply)
	return o
}

func (n *machines) open(i int, name string) *outcome {
	m := n.members[i]
	o := &outcome{t: n.t, what: "open " + name}
	m.machine.Open(m.view(), name, o.reply)
	return o
}

func (n *machines) destroy(i int, name string) *outcome {
	m := n.members[i]
	o := &outcome{t: n.t, what: "destroy " + name}
	m.machine.Destroy(m.view(), name, attachment.Life{}, func(err error) { o.reply(attachment.Ref{}, err) })
	return o
}

// named returns the members, by number, whose disks the roster names.
func (n *machines) named() []int {
	var out []int
	for i, m := range n.members {
		if slices.Contains(n.roster.Partitions[0].Disk, m.id) {
			out = append(out, i)
		}
	}
	return out
}
