package session

import (
	"context"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestPausesWithALongWindow: pauses between tries that fail grow with the window while the grant lasts. Once it has
// ended, a window of an hour makes none of them longer than 8 s: the handle's users wait.
func TestPausesWithALongWindow(t *testing.T) {
	for name, answer := range map[string]func(s *stage, r *Renewal){
		"unavailable": func(s *stage, r *Renewal) { s.m.Renewed(s.now(), r, Renewed{}, sequencer.ErrUnavailable) },
		"timeout":     func(s *stage, r *Renewal) { s.m.Renewed(s.now(), r, Renewed{}, context.DeadlineExceeded) },
		"lost": func(s *stage, r *Renewal) {
			out := Renewed{Stamp: s.stamp(6), Sets: make([]clustertime.Tick, len(r.Sets))}
			for range r.Claims {
				out.Claims = append(out.Claims, ClaimRenewed{Err: sequencer.ErrDetached})
			}
			s.m.Renewed(s.now(), r, out, nil)
		},
	} {
		s, h := ready(t)
		d := s.directory(6, "a", "a", "a", "a")
		d.Window = time.Hour
		s.m.Adopt(s.now(), d, 0, s.tick())
		held, _ := h.Control.Held()
		s.m.Renewed(s.now(), &Renewal{}, Renewed{Stamp: s.stamp(6)}, nil)
		h.Control.Renewed(held.ID, attachment.Grant{From: s.tick(), Until: s.tick().Add(clustertime.SpanOf(time.Hour))})
		longest := map[bool]time.Duration{} // by whether the grant had ended before
		tried := time.Duration(0)
		for s.mono < 2*time.Hour {
			next, _ := s.m.Look(s.now())
			e := s.m.Take()
			for range e.Lapse {
				h.Control.Lapse(held.ID)
			}
			if len(e.Renew)+len(e.Replace) > 0 {
				ended := tried > time.Hour
				longest[ended], tried = max(longest[ended], s.mono-tried), s.mono
			}
			for _, r := range e.Renew {
				answer(s, r)
			}
			for range e.Replace {
				s.m.Replaced(s.now(), h, true)
			}
			if e.LookUp {
				s.m.LookedUp()
			}
			s.mono = max(next, s.mono+time.Millisecond)
		}
		if longest[true] > 8*time.Second || longest[false] < time.Minute {
			t.Errorf("%s: pauses up to %v with IDs, and up to %v without", name, longest[false], longest[true])
		}
	}
}
