package sim

import (
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/session"
)

// Event streams carry destroys to holders. A holder detects a broken stream after a while. Renewals
// deliver events lost on an intact stream.

// pingEvery and pingTimeout control the detection of broken streams.
const (
	pingEvery   = 5 * time.Second
	pingTimeout = 5 * time.Second
)

// openStream opens an event stream.
func (h *holder) openStream(s *session.Stream) {
	h.streams[s] = true
	callAt(h, s.Owner, session.CallTimeout, func(m *member, reply func(bool)) {
		m.streams[h.id] = s
		reply(true)
	}, func(_ bool, err error) {
		switch {
		case !h.streams[s]:
		case err != nil:
			h.breakStream(s)
		default:
			h.do(func(m *session.Machine, now session.Now) { m.Stands(now, s) })
			h.ping(s)
		}
	})
}

// ping periodically checks whether a stream is broken.
func (h *holder) ping(s *session.Stream) {
	h.after(pingEvery, func() {
		if !h.streams[s] {
			return
		}
		callAt(h, s.Owner, pingTimeout, func(m *member, reply func(bool)) { reply(m.streams[h.id] == s) },
			func(stands bool, err error) {
				switch {
				case !h.streams[s]:
				case err != nil || !stands:
					h.breakStream(s)
				default:
					h.ping(s)
				}
			})
	})
}

func (h *holder) breakStream(s *session.Stream) {
	delete(h.streams, s)
	h.do(func(m *session.Machine, now session.Now) { m.Broken(now, s) })
}

// closeStream closes a stream that is no longer needed.
func (h *holder) closeStream(s *session.Stream) {
	delete(h.streams, s)
	to, m := h.g.at(s.Owner)
	h.w.net.send(&h.process, to, func() {
		if m.streams[h.id] == s {
			delete(m.streams, h.id)
		}
	})
}

// tellEnded sends an event to a holder that has a stream to the member.
func (m *member) tellEnded(id attachment.HolderID, ref attachment.Ref) {
	h, s := m.g.holderOf[id], m.streams[id]
	if h == nil || s == nil {
		return
	}
	m.w.net.send(&m.process, &h.process, func() {
		if h.streams[s] {
			h.do(func(machine *session.Machine, _ session.Now) { machine.Ended(ref.Definition.Name(), ref.Life) })
		}
	})
}
