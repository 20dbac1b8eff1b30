package session

import (
	"cmp"
	"slices"
	"time"
)

// With its renewals a process tells owners how many IDs it has issued, so that a grid can
// show the rate of a sequencer, whichever processes hold its logical nodes. Nothing else
// depends on that: a report that gets lost is not repeated, and shows as fewer IDs.

const (
	// usedPerCall and usedBytes bound the report of one call, so that the renewal of a
	// process with very many sequencers stays small. The others are told next time.
	usedPerCall = 64
	usedBytes   = 2 << 10
	// usedOverhead is the size of an entry without its name, at most.
	usedOverhead = 40
)

// Used is how many IDs of a sequencer the process has issued since it told an owner last,
// and how many of its calls had to wait for a grant.
type Used struct {
	Name       string
	IDs, Waits uint64
}

// use is the part of a handle's use that owners were told of, and when.
type use struct {
	ids, waits uint64
	at         time.Duration
}

// unreported is the use of a name that owners were not told yet.
type unreported struct {
	Used
	handles []*Handle
	parts   []Used        // of each handle
	at      time.Duration // when they were told last
}

// unreported returns the handle's use since owners were told last. A count that has become
// smaller, since a call in progress did not get its ID after all, is not told again.
func (h *Handle) unreported() Used {
	s := h.Control.Handle().Stats()
	u := Used{Name: h.name}
	if s.IDs > h.reported.ids {
		u.IDs = s.IDs - h.reported.ids
	}
	if s.GrantWaits > h.reported.waits {
		u.Waits = s.GrantWaits - h.reported.waits
	}
	return u
}

// tell records that owners are told of a use.
func (h *Handle) tell(u Used, at time.Duration) {
	h.reported.ids += u.IDs
	h.reported.waits += u.Waits
	h.reported.at = at
}

// TakeUsed returns a handle's use since owners were told last, for a call that tells them.
func (m *Machine) TakeUsed(h *Handle) Used {
	if h == nil {
		return Used{}
	}
	u := h.unreported()
	h.tell(u, h.reported.at)
	return u
}

// reportUse returns the use of handles for a call that tells their owner, as much of it as
// a call has room for: names that were not told for the longest time first. Handles of one
// name follow each other.
func reportUse(now time.Duration, handles []*Handle) (out []Used) {
	var all []unreported
	for _, h := range handles {
		u := h.unreported()
		if u.IDs == 0 && u.Waits == 0 {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Name == u.Name {
			last := &all[n-1]
			last.IDs, last.Waits = last.IDs+u.IDs, last.Waits+u.Waits
			last.handles, last.parts = append(last.handles, h), append(last.parts, u)
			continue
		}
		all = append(all, unreported{u, []*Handle{h}, []Used{u}, h.reported.at})
	}
	slices.SortStableFunc(all, func(a, b unreported) int { return cmp.Compare(a.at, b.at) })
	room := usedBytes
	for _, u := range all {
		room -= usedOverhead + len(u.Name)
		if len(out) == usedPerCall || room < 0 {
			break
		}
		for i, h := range u.handles {
			h.tell(u.parts[i], now)
		}
		out = append(out, u.Used)
	}
	return out
}
