package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/session"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Addresses belong to seats, because a machine keeps its name when a member restarts.

// anyMember is an address that resolves to a random member, like a DNS name with several records.
const anyMember = "any"

func (s *seat) addr() string { return strconv.Itoa(s.place) }

// at returns the process that listens at an address, and its member. Without one, it returns a dead
// process.
func (g *grid) at(addr string) (*process, *member) {
	place, m := 0, (*member)(nil)
	if addr == anyMember {
		m = g.someMember()
	} else {
		place, _ = strconv.Atoi(addr)
		m = g.seats[place].running
	}
	if m == nil {
		dead := g.w.process(addr, place)
		dead.alive = false
		return &dead, nil
	}
	return &m.process, m
}

// callAt calls the member at an address.
func callAt[T any](h *holder, addr string, timeout time.Duration, serve func(m *member, reply func(T)),
	done func(T, error)) {
	to, m := h.g.at(addr)
	call(&h.process, to, timeout, func(reply func(T)) { serve(m, reply) }, done)
}

// directory returns the member's reply to a lookup: its roster, with addresses.
func (m *member) directory() directory {
	r := m.roster
	d := directory{time: m.view().Bounds().Now, Directory: session.Directory{
		Grid: r.Identity(), Version: r.Version, Window: r.Settings.Window.Duration(),
	}}
	for _, peer := range r.Members {
		d.Members = append(d.Members, m.g.members[peer.Incarnation].seat.addr())
	}
	for _, p := range r.Partitions {
		owner := ""
		if p.Owner != "" {
			owner = m.g.members[p.Owner].seat.addr()
		}
		d.Owners = append(d.Owners, owner)
	}
	return d
}

type directory struct {
	session.Directory
	time clustertime.Tick
}

// search is a lookup, in progress or waiting.
type search struct {
	since  time.Duration
	urgent bool
	done   func(error)
}

// lookUp fetches the directory from the first member that replies, unless the holder has a
// directory requested after since. Concurrent lookups run one after the other; an urgent waiting
// lookup speeds up the one in progress.
func (h *holder) lookUp(since time.Duration, urgent bool, done func(error)) {
	h.searches = append(h.searches, search{since, urgent, done})
	switch {
	case len(h.searches) == 1:
		h.search()
	case urgent && h.hurry != nil:
		h.hurry()
	}
}

// search runs the first lookup.
func (h *holder) search() {
	s, over := h.searches[0], false
	end := func(err error) {
		over, h.hurry = true, nil
		s.done(err)
		if h.searches = h.searches[1:]; len(h.searches) > 0 {
			h.after(0, h.search)
		}
	}
	if h.machine.KnownSince(s.since) {
		end(nil)
		return
	}
	urgent := slices.ContainsFunc(h.searches, func(s search) bool { return s.urgent })
	l, waits := h.machine.NewLookUp(urgent), 0
	var begin, wait func()
	begin = func() {
		addr, asked := l.Ask(), h.Mono()
		if addr == "" {
			return
		}
		callAt(h, addr, session.CallTimeout, func(m *member, reply func(directory)) { reply(m.directory()) },
			func(d directory, err error) {
				switch {
				case over:
				case err == nil && len(d.Owners) > 0:
					h.do(func(m *session.Machine, now session.Now) { m.Adopt(now, d.Directory, asked, d.time) })
					end(nil)
				case l.Failed():
					end(sequencer.ErrUnavailable)
				default:
					begin()
					wait()
				}
			})
	}
	wait = func() { // waits for a reply, from now on
		waits++
		this := waits
		h.after(l.Patience(), func() {
			if !over && this == waits {
				l.Waited()
				begin()
				wait()
			}
		})
	}
	h.hurry = func() {
		if l.Hurry() {
			begin()
			wait()
		}
	}
	begin()
	wait()
}
