// Package session decides how a process keeps the logical nodes that a grid gave it:
// when grants are renewed and by which calls, how an answer changes each handle, when
// a lost logical node is replaced and an idle one detached, which event streams are
// open, and which attachments are given back. Package client runs it over
// sockets, and proof/sim runs the same code over virtual time.
package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

const (
	// LookEvery is the minimum interval of renewals, and the check interval of a handle with an idle limit.
	LookEvery = 100 * time.Millisecond
	// lookAtLeast is the check interval of handles if nothing is due: the user may have set an idle limit.
	lookAtLeast = time.Second
	// CallTimeout bounds one try of a call: after it the same member or another one is called again.
	CallTimeout = 2 * time.Second
)

// Now is the time at which a method is called.
type Now struct {
	Mono time.Duration    // the process's monotonic clock
	Time clustertime.Tick // its cluster time, 0 while that is unknown
}

// Config has the facts that a machine does not learn from the grid.
type Config struct {
	// Addrs lists addresses of members, besides the members in the directory.
	Addrs []string
	// Rand returns a random span from 0 to below it, which is positive.
	Rand func(below time.Duration) time.Duration
}

// Machine is one process's session. Each method takes an event; [Machine.Take] returns the effects.
// It is not safe for concurrent use.
type Machine struct {
	cfg Config

	directory Directory     // without Owners
	owners    owners        // its
	asked     time.Duration // request time of the directory; negative without one
	lookingUp bool          // a look-up for the machine is in progress
	lookUps   int

	handles []*Handle       // by name, see before
	groups  []*group        // by owner; nil after a change of either
	calling map[string]bool // owners with a renewal in progress
	retries retries
	streams []*Stream

	effects Effects
}

// New returns a machine without handles and without a directory.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg, asked: -1, calling: map[string]bool{}}
}

// Add registers a handle made by a reply with a stamp. attaches means that its user attaches it now:
// until then it need not be presented to the owner. stripe means that it may share its name with
// others.
func (m *Machine) Add(now Now, control *attachment.Control, s Stamp, attaches, stripe bool) *Handle {
	ref := control.Ref()
	h := &Handle{
		Control: control, name: ref.Definition.Name(), stripe: stripe, answered: s, heard: now.Mono,
		bare: attachment.FingerprintOf(ref.Life, attachment.Attachment{}), next: now.Mono,
	}
	if attaches || stripe {
		h.next += m.pause()
	}
	m.handles = insert(m.handles, h)
	m.join(h)
	return h
}

// insert adds a handle to others, behind its equals. They are in the order of renewal: by ascending name, and a name's
// attached stripes before its own handle. An owner drops a holder's Detached handle when an attachment with the name
// comes after it.
func insert(handles []*Handle, h *Handle) []*Handle {
	at, _ := slices.BinarySearchFunc(handles, h, func(have, h *Handle) int {
		if h.name < have.name || h.name == have.name && h.stripe && !have.stripe {
			return 1
		}
		return -1
	})
	return slices.Insert(handles, at, h)
}

// Remove forgets handles that their user has given up.
func (m *Machine) Remove(gone ...*Handle) {
	for _, h := range gone {
		h.removed = true
	}
	m.handles = slices.DeleteFunc(m.handles, func(h *Handle) bool { return h.removed })
	m.groups = nil
}

// Ended records a generation's end: its handles end and are removed.
func (m *Machine) Ended(name string, life attachment.Life) {
	first, _ := slices.BinarySearchFunc(m.handles, name, func(h *Handle, name string) int {
		return cmp.Or(cmp.Compare(h.name, name), 1)
	})
	last := first
	var kept []*Handle
	for ; last < len(m.handles) && m.handles[last].name == name; last++ {
		if h := m.handles[last]; h.Control.Ref().Life == life {
			h.removed = true
			m.effects.End = append(m.effects.End, h)
		} else {
			kept = append(kept, h)
		}
	}
	if last-first > len(kept) {
		m.handles = slices.Replace(m.handles, first, last, kept...)
		m.groups = nil
	}
}

// Len returns the number of handles.
func (m *Machine) Len() int { return len(m.handles) }

// Look begins all that is due. It has to be called at the time that it returned last,
// and soon after each other event; more often does no harm. Without handles and
// streams nothing is ever due, and it returns false.
func (m *Machine) Look(now Now) (next time.Duration, due bool) {
	for _, h := range m.handles {
		if !h.busy && h.Control.Idle(now.Time) {
			h.busy = true
			m.effects.Detach = append(m.effects.Detach, h)
		}
		m.replaceLost(now, h)
	}
	for _, g := range m.byOwner() {
		m.renewDue(now, g)
	}
	m.follow(now)
	return m.next(now), len(m.handles)+len(m.streams) > 0
}

// next returns when Look has to be called again.
func (m *Machine) next(now Now) time.Duration {
	next, soon := now.Mono+lookAtLeast, now.Mono+LookEvery
	for _, g := range m.byOwner() {
		for _, h := range g.handles {
			if !m.calling[g.owner] {
				next = min(next, max(h.next, soon))
			}
			if h.Control.Detaches() {
				next = min(next, soon) // its counters must be polled for idleness
			}
			next = min(next, h.lossDue(now, next))
		}
	}
	for _, s := range m.streams {
		next = min(next, s.due(next))
	}
	return next
}

// Take returns the effects of the events since it was called last.
func (m *Machine) Take() Effects {
	out := m.effects
	m.effects = Effects{}
	return out
}

// Window returns how far the grid's grants reach ahead.
func (m *Machine) Window() time.Duration {
	return cmp.Or(m.directory.Window, roster.DefaultWindow.Duration())
}

// pause returns the time between two renewals: a quarter of the window, less up to a fifth of that,
// so that renewals from many processes spread.
func (m *Machine) pause() time.Duration {
	quarter := m.Window() / 4
	return quarter - m.cfg.Rand(quarter/5+1)
}
