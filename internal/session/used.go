package session

import (
	"cmp"
	"slices"
	"time"
)

// Renewals report the number of issued IDs to owners, so that a grid can display a sequencer's rate
// across all processes. Nothing else depends on it: a lost report is not repeated, and appears as
// fewer IDs.

const (
	// usedPerCall and usedBytes bound the report in one call, so that a process with very many sequencers
	// sends small renewals. The rest follows in the next one.
	usedPerCall = 64
	usedBytes   = 2 << 10
	// usedOverhead is the size of an entry without its name, at most.
	usedOverhead = 40
)

// Used counts the IDs that the process has issued from a sequencer since its last report to an owner,
// and the calls that waited for a grant.
type Used struct {
	Name       string
	IDs, Waits uint64
}

// use is the reported part of a handle's use, and the time of the report.
type use struct {
	ids, waits uint64
	at         time.Duration
}

// unreported is a name's use since the last report.
type unreported struct {
	Used
	handles []*Handle
	parts   []Used        // of each handle
	at      time.Duration // time of the last report
}

// unreported returns the handle's use since its last report. A count that has decreased, since a call
// in progress failed to get its ID, is not reported again.
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

// tell records that a use is being reported.
func (h *Handle) tell(u Used, at time.Duration) {
	h.reported.ids += u.IDs
	h.reported.waits += u.Waits
	h.reported.at = at
}

// TakeUsed returns a handle's unreported use, for a call that reports it.
func (m *Machine) TakeUsed(h *Handle) Used {
	if h == nil {
		return Used{}
	}
	u := h.unreported()
	h.tell(u, h.reported.at)
	return u
}

// reportUse returns the handles' use for a report to their owner, up to a call's limit: the names with
// the oldest report first. Handles with one name are adjacent.
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
