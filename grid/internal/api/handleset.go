package api

import (
	"sync"
	"time"
)

// HandlesMax limits the idle handles for POST /v1/ids. A further name replaces the least recently used
// one, which is opened again on demand.
const HandlesMax = 1024

// handleSet records the names that have a handle for POST /v1/ids, and decides which handles end. It
// has no clock: callers pass the time. The zero value is ready.
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

// leave ends a request at now, which found the sequencer or not, and returns the surplus names, so
// that the caller ends their handles.
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
			break // all have requests in progress
		}
		delete(h.names, oldest)
		surplus = append(surplus, oldest)
	}
	return surplus
}

// oldest returns the least recently used name without a request in progress. The caller holds mu.
func (h *handleSet) oldest() (name string, found bool) {
	for n, e := range h.names {
		if e.requests == 0 && (!found || e.last < h.names[name].last) {
			name, found = n, true
		}
	}
	return name, found
}

// idle returns the names last used at or before by; the caller ends their handles.
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
