package partition

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Peer identifies a holder's credentials: the ID of a certificate or a token, or an address. "" is
// none, which no limit counts. Many holders may share a peer.
type Peer string

// Quota limits the logical nodes of one sequencer for a claim's holder, and for all holders with
// its peer together; 0 means without limit. A limit rejects new attachments only, so lowering it
// takes no node away. The rules of the table do not depend on it: without it the same request would
// have been served.
type Quota struct {
	Holder, Peer     int
	HolderBy, PeerBy string // where the limit is from, for messages
}

// withinQuota rejects a claim that would exceed the name's limit of logical nodes for its holder or
// its peer. It counts the sessions: after a change of owner the counts are complete when every
// holder has renewed, within a window. A logical node reserved for a holder from an earlier run of
// the grid counts against no limit: if it were rejected, the node would be granted to another
// holder below the end of that holder's grant (S2).
func (m *Machine) withinQuota(h attachment.HolderID, c Claim) error {
	name := c.Ref.Definition.Name()
	if c.Quota.Holder <= 0 && (c.Quota.Peer <= 0 || c.Peer == "") || c.Shown != 0 {
		return nil
	}
	if r := m.table.records[name]; r != nil && !c.ID.IsZero() && r.assigned(c.ID) != nil {
		return nil
	}
	ofHolder, ofPeer := m.sessions.attached(name, h, c.Peer)
	switch l := c.Quota; {
	case l.Holder > 0 && ofHolder >= l.Holder:
		return overLimit(name, "this process has", ofHolder, l.HolderBy, "holder-nodes", l.Holder)
	case l.Peer > 0 && c.Peer != "" && ofPeer >= l.Peer:
		return overLimit(name, fmt.Sprintf("the processes of %s have", c.Peer), ofPeer, l.PeerBy, "peer-nodes", l.Peer)
	}
	return nil
}

// overLimit returns the error for one logical node above the limit.
func overLimit(name, who string, has int, by, flag string, limit int) error {
	return &QuotaError{Kind: flag, text: fmt.Sprintf("sequencer %q: %s %d of its logical nodes, and %s allows %d; "+
		"detach some, or have an operator raise it: snowgrid quota set PATTERN --%s COUNT",
		name, who, has, by, limit, flag)}
}

// QuotaError is the refusal of an attachment by [Quota]. It matches sequencer.ErrQuota.
type QuotaError struct {
	Kind string // holder-nodes or peer-nodes
	text string
}

// Error implements error.
func (e *QuotaError) Error() string { return e.text }

// Unwrap returns sequencer.ErrQuota.
func (e *QuotaError) Unwrap() error { return sequencer.ErrQuota }

// attached returns the number of a name's logical nodes that a holder, and all holders with a peer,
// have presented to this owner.
func (s *Sessions) attached(name string, h attachment.HolderID, p Peer) (ofHolder, ofPeer int) {
	for _, t := range s.names[name] {
		if t.id.IsZero() {
			continue
		}
		if t.of.holder == h && h != "" {
			ofHolder++
		}
		if t.of.peer == p && p != "" {
			ofPeer++
		}
	}
	return ofHolder, ofPeer
}

// seenFrom records a holder's latest credential.
func (s *Sessions) seenFrom(h attachment.HolderID, p Peer) {
	if known := s.holders[h]; known != nil && p != "" && h != "" {
		known.peer = p
	}
}

// Unused returns the minimum time for which an existing sequencer has been unused, or false if it
// is in use: a logical node is attached, or it is being destroyed. Its last use is the end of a
// grant or a release in the table, or a create, an open or an attachment at this owner. If the
// table has no use of it, the time counts from this member's start as the owner, at the earliest.
func (m *Machine) Unused(v View, name string) (time.Duration, bool) {
	r := m.table.records[name]
	if r == nil || r.Destroyed || m.ending[name] != nil || m.table.Attached(name) > 0 {
		return 0, false
	}
	last := r.Free
	for i := range r.Slots {
		last = max(last, r.Slots[i].Free, r.Slots[i].Shown)
	}
	unused := v.Bounds().Now.Sub(last).Duration()
	if len(r.Slots) == 0 {
		unused = min(unused, v.Mono-m.ownerSince)
	}
	if r.used > 0 {
		unused = min(unused, v.Mono-r.used)
	}
	return max(unused, 0), true
}

// use records that a sequencer was used at an owner's time.
func (t *Table) use(name string, now time.Duration) {
	if r := t.records[name]; r != nil {
		r.used = now
	}
}

// checkUnused refuses to destroy a sequencer that was used within a time.
func (m *Machine) checkUnused(v View, name string, unused time.Duration) error {
	if unused <= 0 {
		return nil
	}
	if _, err := m.table.Open(name); err != nil {
		return err
	}
	switch time, free := m.Unused(v, name); {
	case !free:
		return failure.Errorf(failure.ErrInUse,
			"sequencer %q: it is in use, so it is not removed: logical nodes are attached", name)
	case time < unused:
		return failure.Errorf(failure.ErrInUse,
			"sequencer %q: it was used within %v, so it is not removed: it is unused for at least %v", name, unused, time)
	}
	return nil
}

// UnusedName is a sequencer, and for how long at least it was not used.
type UnusedName struct {
	Name string
	For  time.Duration
}

// UnusedNames returns the first n sequencers above after that begin with prefix and were unused for
// a time, ascending. It returns none while the owner lacks names, or the knowledge which names have
// holders.
//
// Errors: roster.ErrWrongOwner, and sequencer.ErrUnavailable.
func (m *Machine) UnusedNames(v View, prefix, after string, unused time.Duration, n int) ([]UnusedName, error) {
	if _, err := m.act(v); err != nil {
		return nil, err
	}
	if !m.HasEveryName(v) {
		return nil, failure.Errorf(sequencer.ErrUnavailable, "grid: partition %d: %s", m.id, m.learner.waitsForHolders(v))
	}
	var out []UnusedName
	for _, name := range m.table.names(prefix, after, n, func(name string, _ *record) bool {
		time, free := m.Unused(v, name)
		return free && time >= unused
	}) {
		time, _ := m.Unused(v, name)
		out = append(out, UnusedName{name, time})
	}
	return out, nil
}
