package handles

import (
	"sync"
	"time"
)

// NamesMax limits the idle handles for POST /v1/ids. A further name replaces the least recently used
// one, which is opened again on demand.
const NamesMax = 1024

// Names records the names that have a handle for POST /v1/ids, and decides which handles end. It
// has no clock: callers pass the time. The zero value is ready.
type Names struct {
	mu    sync.Mutex // never held while waiting
	names map[string]*nameUse
}

type nameUse struct {
	requests int           // in progress
	last     time.Duration // when the last one ended
	open     bool          // some request found the sequencer
}

// Enter notes a request for a name; each is ended by Leave.
func (n *Names) Enter(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[string]*nameUse{}
	}
	if n.names[name] == nil {
		n.names[name] = &nameUse{}
	}
	n.names[name].requests++
}

// IsOpen reports whether a name has a handle.
func (n *Names) IsOpen(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.names[name] != nil && n.names[name].open
}

// Leave ends a request at now, which found the sequencer or not, and returns the surplus names, so
// that the caller ends their handles.
func (n *Names) Leave(name string, found bool, now time.Duration) (surplus []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.names[name]
	e.requests--
	e.last, e.open = now, e.open || found
	if e.requests == 0 && !e.open {
		delete(n.names, name)
	}
	for len(n.names) > NamesMax {
		oldest, found := n.oldest()
		if !found {
			break // all have requests in progress
		}
		delete(n.names, oldest)
		surplus = append(surplus, oldest)
	}
	return surplus
}

// oldest returns the least recently used name without a request in progress. The caller holds mu.
func (n *Names) oldest() (name string, found bool) {
	for other, e := range n.names {
		if e.requests == 0 && (!found || e.last < n.names[name].last) {
			name, found = other, true
		}
	}
	return name, found
}

// Idle returns the names last used at or before by; the caller ends their handles.
func (n *Names) Idle(by time.Duration) (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, e := range n.names {
		if e.requests == 0 && e.last <= by {
			delete(n.names, name)
			names = append(names, name)
		}
	}
	return names
}
