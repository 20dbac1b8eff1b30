package partition

import (
	"cmp"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Tenant is one attachment in its owner's sessions, or, with a zero ID, a holder with a Detached
// handle that needs the notification of a destroy.
type Tenant struct {
	ID     attachment.ID
	Holder attachment.HolderID // "" = inherited, its holder has not presented it yet
	Name   string
	Node   sequencer.NodeID
	Print  attachment.Fingerprint // fingerprint of the replies to its holder
	Limit  Limit                  // that the holder was under when it showed this
	// Until is the end of its holder's latest joint extension; set by Expired only.
	Until clustertime.Tick
}

// Sessions tracks the liveness of one owner's holders: the time of each attachment's last renewal.
// Times are the owner's monotonic clock.
//
// It decides only when a silent holder's logical node may go to another holder: a node that expired
// is granted again only above all grants of its last attachment. The joint extension of a holder's
// grants is recorded only here, so Expired returns it with the attachment.
type Sessions struct {
	window  time.Duration
	ran     time.Duration // when the owner last looked
	next    time.Duration // no session expires before
	count   int           // number of tenants
	names   map[string][]shown
	holders map[attachment.HolderID]*session
}

// session is one holder.
type session struct {
	holder attachment.HolderID
	peer   Peer // latest credential, "" for none
	count  int
	print  attachment.Fingerprint // combined fingerprint of its tenants
	at     time.Duration          // last joint renewal of all tenants
	until  clustertime.Tick       // where their grants were extended to then

	limit Limit  // limit of its newest tenant
	turn  uint32 // counts the changes of limit
	under int    // tenants presented under the limit since it changed
}

// Limit stands for the names that a holder may use: holders under the same one may use the
// same. The zero Limit is none: all names.
type Limit uint64

// shown is one tenant of a name; there may be millions.
type shown struct {
	id    attachment.ID
	print attachment.Fingerprint
	of    *session
	at    time.Duration
	node  sequencer.NodeID
	turn  uint32 // its session's turn at its last renewal
}

// last returns the time of a tenant's last renewal, alone or with all others of its holder.
func (t shown) last() time.Duration { return max(t.at, t.of.at) }

// is reports whether two are the same tenant. A holder has one handle to a name.
func (t shown) is(other shown) bool {
	return t.id == other.id && (!t.id.IsZero() || t.of == other.of)
}

// gapLimit is the longest time between two looks that still counts as time in
// which the owner ran; over it no holder could have renewed, so none is late.
const gapLimit = time.Second

// NewSessions returns no sessions, at the owner's time now.
func NewSessions(window, now time.Duration) *Sessions {
	return &Sessions{window: window, ran: now, next: now, names: map[string][]shown{},
		holders: map[attachment.HolderID]*session{}}
}

// Len returns the number of tenants.
func (s *Sessions) Len() int { return s.count }

// Show records that a tenant was presented. An attachment replaces its holder's Detached handle on
// the name, from which it usually comes; a holder with both presents the Detached one after it.
func (s *Sessions) Show(t Tenant, now time.Duration) {
	s.run(now)
	h := s.holders[t.Holder]
	if h == nil {
		h = &session{holder: t.Holder}
		s.holders[t.Holder] = h
	}
	if h.limit != t.Limit {
		h.limit, h.under = t.Limit, 0
		h.turn++
	}
	it := shown{id: t.ID, print: t.Print, of: h, at: now, node: t.Node, turn: h.turn}
	h.count++ // before the replaced one is removed, to keep the session
	h.under++
	h.print = h.print.With(t.Print)
	s.remove(t.Name, func(old shown) bool { return old.is(it) || old.is(shown{of: h}) })
	if s.count == 0 {
		s.next = now + s.window
	}
	s.names[t.Name] = append(s.names[t.Name], it)
	s.count++
}

// Confirm records a renewal of all attachments of a holder, by their number and their combined
// fingerprint, and the end up to which its grants were extended. It reports whether the claim
// equals the owner's state; if not, nothing is recorded. A holder under a limit has to present each
// attachment under that limit first, since a set names none.
func (s *Sessions) Confirm(h attachment.HolderID, set ClaimSet, until clustertime.Tick, now time.Duration) bool {
	s.run(now)
	known := s.holders[h]
	if h == "" || known == nil || known.count != set.Count || known.print != set.Print {
		return false
	}
	if set.Limit != 0 && (known.limit != set.Limit || known.under != known.count) {
		return false
	}
	known.at, known.until = now, max(known.until, until)
	return true
}

// LimitOf returns the limit that a holder was under when it showed something last.
func (s *Sessions) LimitOf(h attachment.HolderID) Limit {
	if known := s.holders[h]; known != nil {
		return known.limit
	}
	return 0
}

// Until returns the end of the latest joint extension for an attachment's holder, 0 if there was
// none, and false if no holder has presented the attachment.
func (s *Sessions) Until(name string, id attachment.ID) (clustertime.Tick, bool) {
	for _, t := range s.names[name] {
		if t.id == id {
			return t.of.until, true
		}
	}
	return 0, false
}

// Drop removes an attachment of a name.
func (s *Sessions) Drop(name string, id attachment.ID) {
	s.remove(name, func(t shown) bool { return t.id == id && !id.IsZero() })
}

// DropName removes all holders of a name.
func (s *Sessions) DropName(name string) {
	s.remove(name, func(shown) bool { return true })
}

func (s *Sessions) remove(name string, gone func(t shown) bool) {
	of := s.names[name]
	kept := slices.DeleteFunc(of, func(t shown) bool {
		if !gone(t) {
			return false
		}
		s.subtract(t)
		return true
	})
	switch {
	case len(kept) == 0:
		delete(s.names, name)
	case len(kept) < len(of):
		s.names[name] = kept
	}
}

// subtract counts a tenant out of its holder's session. A session ends with its last tenant.
func (s *Sessions) subtract(t shown) {
	s.count--
	if t.turn == t.of.turn {
		t.of.under--
	}
	t.of.print = t.of.print.With(t.print)
	if t.of.count--; t.of.count == 0 {
		delete(s.holders, t.of.holder)
	}
}

// Holders returns who is concerned when something happens to a name, ascending.
func (s *Sessions) Holders(name string) []attachment.HolderID {
	var out []attachment.HolderID
	for _, t := range s.names[name] {
		if t.of.holder != "" {
			out = append(out, t.of.holder)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Expired removes and returns the attachments that were not renewed for a window, in ascending
// order by name and node. It has to be called at least once per gapLimit while there are sessions.
// Most calls check no holder: each check computes the time of the next one.
func (s *Sessions) Expired(now time.Duration) []Tenant {
	s.run(now)
	if now < s.next {
		return nil
	}
	s.next = now + s.window
	var out []Tenant
	for name, of := range s.names {
		late := false
		for i := range of {
			t := &of[i]
			if due := t.last() + s.window; due > now {
				s.next = min(s.next, due)
				continue
			}
			late = true
			if !t.id.IsZero() {
				out = append(out, Tenant{ID: t.id, Holder: t.of.holder, Name: name, Node: t.node, Print: t.print,
					Until: t.of.until})
			}
		}
		if late {
			s.remove(name, func(t shown) bool { return t.last()+s.window <= now })
		}
	}
	slices.SortFunc(out, func(a, b Tenant) int { return cmp.Or(cmp.Compare(a.Name, b.Name), int(a.Node)-int(b.Node)) })
	return out
}

// run extends every session by a gap in which the owner did not run.
func (s *Sessions) run(now time.Duration) {
	if gap := now - s.ran; gap > gapLimit {
		for _, of := range s.names {
			for i := range of {
				of[i].at += gap
			}
		}
		for _, h := range s.holders {
			h.at += gap
		}
		s.next += gap
	}
	s.ran = now
}
