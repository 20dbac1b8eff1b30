package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// registry has a client's seats, and the attaches that wait for a node.
type registry struct {
	mu    sync.Mutex // never held while waiting
	seats map[attachment.ID]*seat
	rooms map[string]*room // waiting attaches and counts, by name
	moved signal.Broadcast // sent when a seat was renewed, lost or replaced
	// creates has the last error from each create that tries again, by name.
	creates map[string]error
}

// seatOf returns the seat of an attachment, nil if there is none.
func (g *registry) seatOf(id attachment.ID) *seat {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seats[id]
}

// seatsFor returns the seats that end with a handle's attachment: its own, and, if its record was
// lost, the next seat that the handle lacks.
func (g *registry) seatsFor(h *holder, id attachment.ID) (all []*seat) {
	for _, s := range g.allSeats() {
		if s.id == id || s.h == h {
			all = append(all, s)
		}
	}
	return all
}

func (g *registry) allSeats() []*seat {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.seats))
}

func (g *registry) remove(s *seat) {
	g.mu.Lock()
	delete(g.seats, s.id)
	g.mu.Unlock()
	s.mu.Lock()
	_, granted := s.machine.Grant()
	returned := granted && s.machine.Phase() == record.Done && s.machine.Record().State == record.Free
	s.mu.Unlock()
	if returned {
		g.notify(s.h.name())
	}
}

// creating records the error from an attempt to create a name; nil ends its creates.
func (g *registry) creating(name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		delete(g.creates, name)
	} else {
		g.creates[name] = err
	}
}

// room is the waiting list for one name's free nodes.
type room struct {
	wake signal.Broadcast // sent when a record of the name may have become free
	// ahead and corrupt are the numbers of records that the last round left out.
	ahead, corrupt int
	behind         time.Duration // see Health
}

// room returns a name's room, a new one if there is none.
func (g *registry) room(name string) *room {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.rooms[name]
	if r == nil {
		r = &room{}
		g.rooms[name] = r
	}
	return r
}

// count records how many records a round left out, and the lag of this clock behind another holder's. It returns
// the lag of the round before.
func (g *registry) count(name string, ahead, corrupt int, behind time.Duration) (before time.Duration) {
	r := g.room(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	before = r.behind
	r.ahead, r.corrupt, r.behind = ahead, corrupt, behind
	return before
}

// notify wakes the attaches that wait for a node of a name.
func (g *registry) notify(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.rooms[name]; r != nil {
		r.wake.Send()
	}
}
