package sequencer

import (
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
}

// Sessions is what one owner knows of its holders' liveness: when each
// attachment was last shown. Times are the owner's monotonic clock.
//
// It decides only when a silent holder's logical node may go to another. It
// carries no safety: a node that expired is granted anew above everything its
// last attachment was granted.
type Sessions struct {
	window  time.Duration
	ran     time.Duration // when the owner last looked
	tenants map[tenantKey]shown
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
	return &Sessions{window: window, ran: now, tenants: map[tenantKey]shown{}}
}

// Len returns the number of tenants known.
func (s *Sessions) Len() int { return len(s.tenants) }

// SetWindow sets how long an attachment lives without being shown.
func (s *Sessions) SetWindow(w time.Duration) { s.window = w }

// Show notes that a tenant was shown.
func (s *Sessions) Show(t Tenant, now time.Duration) {
	s.run(now)
	s.tenants[t.key()] = shown{Tenant: t, at: now}
}

// Drop forgets an attachment.
func (s *Sessions) Drop(id AttachmentID) { delete(s.tenants, tenantKey{id: id}) }

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
	for id, t := range s.tenants {
		if now-t.at >= s.window {
			delete(s.tenants, id)
			if !t.ID.IsZero() {
				out = append(out, t.Tenant)
			}
		}
	}
	slices.SortFunc(out, func(a, b Tenant) int {
		if a.Name != b.Name {
			if a.Name < b.Name {
				return -1
			}
			return 1
		}
		return int(a.Node) - int(b.Node)
	})
	return out
}

// run extends every session by a gap in which the owner did not run.
func (s *Sessions) run(now time.Duration) {
	if gap := now - s.ran; gap > gapLimit {
		for id, t := range s.tenants {
			t.at += gap
			s.tenants[id] = t
		}
	}
	s.ran = now
}
