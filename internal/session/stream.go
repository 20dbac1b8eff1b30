package session

import (
	"slices"
	"time"
)

// streamIdle is the time that an unneeded stream stays open, so that a handle created soon receives a
// destroy from its first moment.
const streamIdle = 10 * time.Second

// freshAnswer is the maximum age of a reply about a handle for which the first stream to its owner
// causes no renewal. The owner keeps events longer than that for a holder with a pending stream.
const freshAnswer = time.Second

// Stream is the event stream to one owner, for as long as the process has handles there. Its driver
// reports its establishment, each event, and its end: a broken stream or a failed open.
type Stream struct {
	Owner string // its address

	needed time.Duration // when the process last had a handle there
	open   bool          // or being opened
	opened time.Duration
	stood  bool
	broke  bool          // it has ended before
	pause  time.Duration // after the next end
	next   time.Duration // when to open it again
	closed bool
}

// follow opens and closes streams, so that there is one to each owner.
func (m *Machine) follow(now Now) {
	for _, g := range m.byOwner() {
		m.need(now, g.owner)
	}
	m.streams = slices.DeleteFunc(m.streams, func(s *Stream) bool {
		if now.Mono-s.needed < streamIdle {
			return false
		}
		s.closed = true
		if s.open {
			m.effects.Close = append(m.effects.Close, s)
		}
		return true
	})
	for _, s := range m.streams {
		if !s.open && s.next <= now.Mono {
			s.open, s.opened, s.stood = true, now.Mono, false
			m.effects.Open = append(m.effects.Open, s)
		}
	}
}

// need records that the process has a handle at an owner.
func (m *Machine) need(now Now, owner string) {
	for _, s := range m.streams {
		if s.Owner == owner {
			s.needed = now.Mono
			return
		}
	}
	if owner != "" {
		m.streams = append(m.streams, &Stream{Owner: owner, needed: now.Mono, pause: firstPause})
	}
}

// Stands records that a stream is established. Everything at its owner is renewed immediately: the
// replies make up for missed events. Handles with a reply just before the first stream have missed
// none.
func (m *Machine) Stands(now Now, s *Stream) {
	s.stood = true
	for _, h := range m.handles {
		fresh := !s.broke && now.Mono-h.heard < freshAnswer
		if m.Owner(h.name) == s.Owner && !fresh {
			h.next = 0
		}
	}
}

// Broken records a stream's end. It is reopened after a pause, which grows unless the stream lasted
// for a while; renewals replace its events.
func (m *Machine) Broken(now Now, s *Stream) {
	if s.closed {
		return
	}
	s.open, s.broke = false, true
	if s.stood && now.Mono-s.opened > lastPause {
		s.pause = firstPause
	}
	half := s.pause / 2
	s.next = now.Mono + half + m.cfg.Rand(half+1)
	s.pause = min(2*s.pause, max(m.Window()/4, lastPause))
}

// due returns when the stream is to be opened or closed, or latest if that is earlier.
func (s *Stream) due(latest time.Duration) time.Duration {
	if !s.open {
		latest = min(latest, s.next)
	}
	return min(latest, s.needed+streamIdle)
}
