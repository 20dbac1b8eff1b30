package client

import (
	"sync"

	"github.com/snowgrid/snowgrid/internal/registrar"
	"github.com/snowgrid/snowgrid/sequencer"
)

// memory is the logical nodes of a client's handles as its next process finds them. Without
// a data directory it remembers nothing.
type memory struct {
	nodes *registrar.Nodes // nil for none

	mu    sync.Mutex // guards seats
	seats map[*sequencer.Control]*registrar.Seat
}

func newMemory(nodes *registrar.Nodes) *memory {
	return &memory{nodes: nodes, seats: map[*sequencer.Control]*registrar.Seat{}}
}

// seat returns the memory of a handle, nil if there is none.
func (m *memory) seat(control *sequencer.Control) *registrar.Seat {
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

// take returns the memory of a handle on a name that is yet to be made, nil if there is none;
// bind or give follows.
func (m *memory) take(name string) *registrar.Seat {
	if m.nodes == nil {
		return nil
	}
	return m.nodes.Take(name)
}

// bind makes a memory that was taken that of a handle.
func (m *memory) bind(control *sequencer.Control, s *registrar.Seat) {
	if s == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seats[control] = s
}

// give takes a memory back for which no handle was made.
func (m *memory) give(s *registrar.Seat) {
	if s != nil {
		m.nodes.Give(s, false)
	}
}

// wanted returns the logical node that a handle asks for: its own, or that of an earlier
// process, with the attachment which that one had.
func (m *memory) wanted(control *sequencer.Control, own sequencer.Preference) (sequencer.Preference, *sequencer.AttachmentID) {
	if m.nodes == nil || !own.Any {
		return own, nil
	}
	return m.remembered(m.seat(control))
}

// remembered returns the logical node of an earlier process, any if there was none, and the
// attachment that it had.
func (m *memory) remembered(s *registrar.Seat) (sequencer.Preference, *sequencer.AttachmentID) {
	if s == nil {
		return sequencer.Preference{Any: true}, nil
	}
	node, previous, known := m.nodes.Wanted(s)
	switch {
	case !known:
		return sequencer.Preference{Any: true}, nil
	case previous.IsZero():
		return sequencer.Preference{Node: node}, nil
	}
	return sequencer.Preference{Node: node}, &previous
}

// attached remembers a handle's attachment.
func (m *memory) attached(control *sequencer.Control, a sequencer.Attachment) {
	if m.nodes == nil {
		return
	}
	if s := m.seat(control); s != nil {
		m.nodes.Attached(s, a.Node, a.ID)
	}
}

// gone takes in that a handle was given up; ended says that its life has ended.
func (m *memory) gone(control *sequencer.Control, ended bool) {
	m.mu.Lock()
	s := m.seats[control]
	delete(m.seats, control)
	m.mu.Unlock()
	if s != nil {
		m.nodes.Give(s, ended)
	}
}
