package client

import (
	"sync"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/identity"
)

// memory keeps the logical nodes of a client's handles for its next process. Without a data
// directory it keeps nothing.
type memory struct {
	nodes *identity.Nodes // nil for none

	mu    sync.Mutex // guards seats
	seats map[*attachment.Control]*identity.Seat
}

// seat returns the handle's seat, or nil.
func (m *memory) seat(control *attachment.Control) *identity.Seat {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.seats[control]
	if s == nil {
		if s = m.nodes.Take(control.Ref().Definition.Name()); s != nil {
			m.seats[control] = s
		}
	}
	return s
}

// bind assigns a seat that was taken for a future handle to it.
func (m *memory) bind(control *attachment.Control, s *identity.Seat) {
	if s == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seats[control] = s
}

// remembered returns an earlier process's logical node, any if there is none, and its attachment.
func (m *memory) remembered(s *identity.Seat) (attachment.Preference, *attachment.ID) {
	if s == nil {
		return attachment.Preference{Any: true}, nil
	}
	node, previous, known := m.nodes.Wanted(s)
	switch {
	case !known:
		return attachment.Preference{Any: true}, nil
	case previous.IsZero():
		return attachment.Preference{Node: node}, nil
	}
	return attachment.Preference{Node: node}, &previous
}

// gone records that a handle was given up; ended means that its life has ended.
func (m *memory) gone(control *attachment.Control, ended bool) {
	m.mu.Lock()
	s := m.seats[control]
	delete(m.seats, control)
	m.mu.Unlock()
	if s != nil {
		m.nodes.Give(s, ended)
	}
}
