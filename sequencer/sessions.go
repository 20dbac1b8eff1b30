package sequencer

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// HolderID names a process that generates IDs, for as long as it lives.
type HolderID string

// Tenant is one attachment as its owner's sessions know it, or, with a zero ID, a
// holder whose handle is Detached and wants to hear of a destroy.
type Tenant struct {
	ID     AttachmentID
	Holder HolderID // "" = inherited, its holder has not shown it yet
	Name   string
	Node   NodeID
	Print  Print // of what its holder was told
	// Until is where its grant was extended to together with all others of its
	// holder; set by Expired only.
	Until Tick
}

// Print is a fingerprint of one handle as its holder and its owner see it. Prints
// of several are combined by [Print.With] in any order.
type Print [16]byte

// PrintOf returns the print of a handle: its life, and its attachment with the
// start of the grant that was answered last, or a zero Attachment while it is
// Detached. Two handles, or one before and after a gap in its grant, have
// different prints.
func PrintOf(life Life, a Attachment) (p Print) {
	text := slices.Concat(life[:], a.ID[:])
	text = binary.BigEndian.AppendUint16(text, uint16(a.Node))
	text = binary.BigEndian.AppendUint64(text, uint64(a.Grant.From))
	sum := sha256.Sum256(text)
	copy(p[:], sum[:])
	return p
}

// With adds a print that is not among the combined ones, or takes out one that is.
func (p Print) With(q Print) Print {
	for i := range p {
		p[i] ^= q[i]
	}
	return p
}

// Sessions is what one owner knows of its holders' liveness: when each
// attachment was last shown. Times are the owner's monotonic clock.
//
// It decides only when a silent holder's logical node may go to another: a node
// that expired is granted anew above everything its last attachment was granted.
// What its holder was granted with all others at once is known here only, so it
// goes with the attachment when that expires.
type Sessions struct {
	window  time.Duration
	ran     time.Duration // when the owner last looked
	tenants map[tenantKey]shown
	holders map[HolderID]*session
}

// session is one holder.
type session struct {
	count int
	print Print         // of all its tenants
	at    time.Duration // when all of them were last shown at once
	until Tick          // where their grants were extended to then
}

// tenantKey is the attachment, or the holder and name of a Detached handle.
type tenantKey struct {
	id     AttachmentID
	holder HolderID
	name   string
}

func (t Tenant) key() tenantKey {
	if t.ID.IsZero() {
		return tenantKey{holder: t.Holder, name: t.Name}
	}
	return tenantKey{id: t.ID}
}

type shown struct {
	Tenant
	at time.Duration
}

// gapLimit is the longest time between two looks that still counts as time in
// which the owner ran; over it, nobody could have renewed, so nobody is late.
const gapLimit = time.Second

// NewSessions returns no sessions, at the owner's time now.
func NewSessions(window, now time.Duration) *Sessions {
	return &Sessions{window: window, ran: now, tenants: map[tenantKey]shown{}, holders: map[HolderID]*session{}}
}

// Len returns the number of tenants known.
func (s *Sessions) Len() int { return len(s.tenants) }

// Show notes that a tenant was shown. A holder has one handle to a name, so an
// attachment takes the place of a Detached handle.
func (s *Sessions) Show(t Tenant, now time.Duration) {
	s.run(now)
	h := s.holders[t.Holder]
	if h == nil {
		h = &session{}
	}
	if !t.ID.IsZero() {
		s.remove(tenantKey{holder: t.Holder, name: t.Name})
	}
	s.remove(t.key())
	s.holders[t.Holder] = h // the same as before, even if it was empty for a moment
	s.tenants[t.key()] = shown{Tenant: t, at: now}
	h.count++
	h.print = h.print.With(t.Print)
}

// Confirm notes that a holder showed everything it has, by their number and the
// combination of their prints, and is told that its grants go on until a tick. It
// reports whether what was shown is what is known; if not, nothing is noted.
func (s *Sessions) Confirm(h HolderID, count int, p Print, until Tick, now time.Duration) bool {
	s.run(now)
	known := s.holders[h]
	if h == "" || known == nil || known.count != count || known.print != p {
		return false
	}
	known.at, known.until = now, max(known.until, until)
	return true
}

// Drop forgets an attachment.
func (s *Sessions) Drop(id AttachmentID) { s.remove(tenantKey{id: id}) }

// DropName forgets everybody who has to do with a name.
func (s *Sessions) DropName(name string) {
	for key, t := range s.tenants {
		if t.Name == name {
			s.remove(key)
		}
	}
}

func (s *Sessions) remove(key tenantKey) {
	t, found := s.tenants[key]
	if !found {
		return
	}
	delete(s.tenants, key)
	h := s.holders[t.Holder]
	h.print = h.print.With(t.Print)
	if h.count--; h.count == 0 {
		delete(s.holders, t.Holder)
	}
}

// Holders returns who is concerned when something happens to a name, ascending.
func (s *Sessions) Holders(name string) []HolderID {
	var out []HolderID
	for _, t := range s.tenants {
		if t.Name == name && t.Holder != "" {
			out = append(out, t.Holder)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Expired forgets and returns the attachments that were not shown for a window,
// in ascending order of name and node. It has to be called at least once a
// gapLimit while there are sessions.
func (s *Sessions) Expired(now time.Duration) []Tenant {
	s.run(now)
	var out []Tenant
	for key, t := range s.tenants {
		h := s.holders[t.Holder]
		if now-max(t.at, h.at) < s.window {
			continue
		}
		t.Until = h.until
		s.remove(key)
		if !t.ID.IsZero() {
			out = append(out, t.Tenant)
		}
	}
	slices.SortFunc(out, func(a, b Tenant) int { return cmp.Or(cmp.Compare(a.Name, b.Name), int(a.Node)-int(b.Node)) })
	return out
}

// run extends every session by a gap in which the owner did not run.
func (s *Sessions) run(now time.Duration) {
	if gap := now - s.ran; gap > gapLimit {
		for key, t := range s.tenants {
			t.at += gap
			s.tenants[key] = t
		}
		for _, h := range s.holders {
			h.at += gap
		}
	}
	s.ran = now
}
