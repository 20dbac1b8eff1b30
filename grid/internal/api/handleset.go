package api

import (
	"sync"
	"time"
)

// HandlesMax is how many names POST /v1/ids keeps a handle for, besides those that are
// being asked for at the moment. A name beyond it takes the place of the one that was asked
// for longest ago, which is opened again when it is asked for.
const HandlesMax = 1024

// handleSet records which names POST /v1/ids has a handle for, and decides which handles
// end. It has no clock: callers say what time it is. Its zero value is ready.
type handleSet struct {
	mu    sync.Mutex // never held while waiting
	names map[string]*handleUse
}

// handleUse is one name of idsHandles.
type handleUse struct {
	requests int           // in progress
	last     time.Duration // when the last one ended
	open     bool          // some request found the sequencer
}

// enter notes a request for a name; each is ended by leave.
func (h *handleSet) enter(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.names == nil {
		h.names = map[string]*handleUse{}
	}
	if h.names[name] == nil {
		h.names[name] = &handleUse{}
	}
	h.names[name].requests++
}

// isOpen reports whether a name has a handle.
func (h *handleSet) isOpen(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names[name] != nil && h.names[name].open
}

// leave ends a request at now, which found the sequencer or not, and returns the names
// whose handles end because there are too many.
func (h *handleSet) leave(name string, found bool, now time.Duration) (surplus []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.names[name]
	e.requests--
	e.last, e.open = now, e.open || found
	if e.requests == 0 && !e.open {
		delete(h.names, name)
	}
	for len(h.names) > HandlesMax {
		oldest, found := h.oldest()
		if !found {
			break // all are being asked for
		}
		delete(h.names, oldest)
		surplus = append(surplus, oldest)
	}
	return surplus
}

// oldest returns the name without a request that was asked for longest ago. The caller
// holds mu.
func (h *handleSet) oldest() (name string, found bool) {
	for n, e := range h.names {
		if e.requests == 0 && (!found || e.last < h.names[name].last) {
			name, found = n, true
		}
	}
	return name, found
}

// idle returns the names that were last asked for at or before by; their handles end.
func (h *handleSet) idle(by time.Duration) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, e := range h.names {
		if e.requests == 0 && e.last <= by {
			delete(h.names, name)
			names = append(names, name)
		}
	}
	return names
}
