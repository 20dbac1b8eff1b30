package record

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/script"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRecordScripts runs the scripts under testdata.
func TestRecordScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func() func([]string) string {
		s := &stage{records: map[int]Record{}, bounds: Bounds{Window: 15, Life: NewLife(1, [8]byte{})}}
		s.document = NewDocument(definition("orders"), [8]byte{}, "n")
		s.marker = Marker{Slots: 2, Made: 2, Nonce: "n"}
		return s.do
	})
}

// stage is the state of a script: records by node, a document, a marker and one holding.
type stage struct {
	records  map[int]Record
	document Document
	marker   Marker
	bounds   Bounds
	holding  *Holding
	writes   int
}

// verbs of the scripts. Ticks are small numbers; an attachment is a letter.
var verbs = map[string]func(*stage, []string) string{
	"now":   func(s *stage, a []string) string { s.bounds.Now = tickOf(a[0]); return "" },
	"ahead": func(s *stage, a []string) string { s.bounds.Ahead = clustertime.Span(script.Number(a[0])); return "" },
	"mark":  func(s *stage, a []string) string { s.bounds.Mark = tickOf(a[0]); return "" },
	"epoch": func(s *stage, a []string) string { s.bounds.Epoch = tickOf(a[0]); return "" },
	"quarantine": func(s *stage, a []string) string {
		s.bounds.Quarantine = clustertime.Span(script.Number(a[0]))
		return ""
	},
	"server": func(s *stage, a []string) string { s.bounds.Generation = a[0]; return "" },
	"life":   func(s *stage, a []string) string { s.bounds.Life = lifeOf(a[0]); return "" },
	"born": func(s *stage, a []string) string {
		s.records[node(a)] = Born(s.bounds.Life, s.nonce())
		return ""
	},
	"empty": func(s *stage, a []string) string { s.records[node(a)], _ = Decode(nil, nil); return "" },
	"take": func(s *stage, a []string) string {
		r, err := s.records[node(a)].Take(attachmentOf(a[1]), a[1], s.nonce(), s.bounds)
		return s.put(a, r, true, err)
	},
	"extend": func(s *stage, a []string) string {
		r, err := s.records[node(a)].Extend(attachmentOf(a[1]), nil, s.nonce(), s.bounds)
		return s.put(a, r, true, err)
	},
	"return": func(s *stage, a []string) string {
		r, done := s.records[node(a)].Return(attachment.Release{ID: attachmentOf(a[1]), LastUsed: tickOf(a[2])}, s.nonce())
		return s.put(a, r, done, nil)
	},
	"retire": func(s *stage, a []string) string {
		r, done, err := s.records[node(a)].Retire(s.bounds.Life, s.nonce())
		return s.put(a, r, done, err)
	},
	"restore": func(s *stage, a []string) string {
		r, done, err := s.records[node(a)].Restore(s.bounds.Life, s.nonce())
		return s.put(a, r, done, err)
	},
	"enlist": func(s *stage, a []string) string {
		r, err := s.records[node(a)].Enlist(s.bounds.Life, s.nonce())
		return s.put(a, r, true, err)
	},
	"close": func(s *stage, a []string) string {
		r, done, err := s.records[node(a)].Close(s.bounds.Life, s.nonce())
		return s.put(a, r, done, err)
	},
	"repair": func(s *stage, a []string) string {
		r, err := Repaired(s.bounds.Life, tickOf(a[1]), s.bounds.Epoch, uint64(script.Number(a[2])), s.nonce())
		return s.put(a, r, true, err)
	},
	"order":    (*stage).order,
	"document": (*stage).doc,
	"marker":   (*stage).mark,
	"holding":  (*stage).hold,
}

func (s *stage) do(words []string) string {
	verb, found := verbs[words[0]]
	if !found {
		return "unknown verb " + words[0] + "\n"
	}
	return verb(s, words[1:])
}

func (s *stage) nonce() string            { s.writes++; return fmt.Sprint("n", s.writes) }
func tickOf(word string) clustertime.Tick { return clustertime.Tick(script.Number(word)) }
func node(a []string) int                 { return int(script.Number(a[0])) }
func lifeOf(word string) attachment.Life  { return NewLife(uint64(script.Number(word)), [8]byte{}) }
func attachmentOf(w string) attachment.ID { return attachment.ID{w[0]} }

// put stores the result of a rule, and prints it.
func (s *stage) put(a []string, r Record, done bool, err error) string {
	switch {
	case err != nil:
		return refused(err)
	case !done:
		return "nothing to do\n"
	}
	got, err := Decode(r.Encode(), r.Meta())
	if err != nil {
		return "BROKEN: " + err.Error() + "\n"
	}
	s.records[node(a)] = got
	return show(got)
}

func show(r Record) string {
	out := fmt.Sprintf("%v v%d life %d bound %d", r.State, r.Version, LifeNumber(r.Life), r.Bound)
	if r.State == Held {
		out += fmt.Sprintf(" %c [%d, %d) takeable after %d", r.Attachment[0], r.From, r.Until, r.Timestamp)
	}
	if r.LastUsed > 0 {
		out += fmt.Sprintf(" used %d", r.LastUsed)
	}
	if r.Graceful {
		out += " graceful"
	}
	if r.Generation != "" {
		out += " server " + r.Generation
	}
	return out + "\n"
}

var sentinels = map[string]error{
	"ErrDestroyed": sequencer.ErrDestroyed, "ErrDetached": sequencer.ErrDetached,
	"ErrInvalidConfig": sequencer.ErrInvalidConfig,
	"ErrDamaged":       ErrDamaged, "ErrExpired": ErrExpired, "ErrAhead": ErrAhead, "ErrRetired": ErrRetired,
}

// refused names the sentinels that a refusal matches.
func refused(err error) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(sentinels)) {
		if errors.Is(err, sentinels[name]) {
			names = append(names, name)
		}
	}
	return "refused: " + strings.Join(names, " ") + "\n"
}

// order [NODE] prints the nodes in the order in which they are tried.
func (s *stage) order(a []string) string {
	p := attachment.Preference{Any: len(a) == 0}
	if len(a) > 0 {
		p.Node = sequencer.NodeID(script.Number(a[0]))
	}
	var all []Candidate
	for _, n := range slices.Sorted(maps.Keys(s.records)) {
		all = append(all, Candidate{sequencer.NodeID(n), s.records[n]})
	}
	order, ahead := Order(all, p, s.bounds)
	var nodes []string
	for _, c := range order {
		nodes = append(nodes, fmt.Sprint(c.Node))
	}
	return fmt.Sprintf("%s; %d ahead\n", strings.Join(nodes, " "), ahead)
}

// document destroy | end | create
func (s *stage) doc(a []string) (out string) {
	var err error
	switch a[0] {
	case "destroy":
		s.document, _ = s.document.BeginDestroy(s.nonce())
	case "end":
		var all []Record
		for _, n := range slices.Sorted(maps.Keys(s.records)) {
			all = append(all, s.records[n])
		}
		var d Document
		if d, err = s.document.EndDestroy(all, s.nonce()); err == nil {
			s.document = d
		}
	case "create":
		var d Document
		if d, err = s.document.Recreate(s.document.Definition, [8]byte{}, s.nonce()); err == nil {
			s.document = d
		}
	}
	if err != nil {
		return refused(err)
	}
	return fmt.Sprintf("%v life %d mark %d\n", s.document.Phase, LifeNumber(s.document.Life), s.document.Mark)
}

// marker seal | resize SLOTS, for the present life
func (s *stage) mark(a []string) string {
	var err error
	m := s.marker
	if a[0] == "seal" {
		m, _, err = m.Seal(s.bounds.Life, s.nonce())
	} else {
		m, err = m.Resize(s.bounds.Life, node(a[1:]), s.nonce())
	}
	if err != nil {
		return refused(err)
	}
	s.marker = m
	return fmt.Sprintf("%d slots of %d, sealed %d\n", m.Slots, m.Made, LifeNumber(m.Sealed))
}

// hold begins, and tells a holding: take NODE LETTER, sent, landed, unknown, refused,
// read, missing, extend, expire, look, stop LASTUSED. A body that it wants to swap is put into the
// record by the verb lands.
func (s *stage) hold(a []string) string {
	h := s.holding
	fresh := s.nonce()
	switch a[0] {
	case "take":
		n := node(a[1:])
		var err error
		r := s.records[n]
		if h, err = NewHolding(attachmentOf(a[2]), Candidate{sequencer.NodeID(n), r}, r.Nonce, a[2], fresh,
			s.bounds); err != nil {
			return refused(err)
		}
		s.holding = h
	case "sent":
		h.Sent()
	case "lands":
		if _, want, revision := h.Want(); s.records[int(h.Node())].Nonce == revision {
			s.records[int(h.Node())] = want
		}
	case "landed", "unknown", "refused":
		_, want, _ := h.Want()
		answer := map[string]Answer{"landed": Landed, "unknown": Unknown, "refused": Refused}[a[0]]
		h.Swapped(want.Nonce, answer, want.Nonce, fresh)
	case "read":
		r := s.records[int(h.Node())]
		h.Read(Seen{Record: r, Revision: r.Nonce}, fresh)
	case "missing":
		h.Read(Seen{Err: ErrDamaged}, fresh)
	case "extend":
		_ = h.Extend(nil, fresh, s.bounds)
	case "expire":
		h.Expire(s.bounds.Now)
	case "look":
		h.Look()
	case "giveup":
		h.GiveUp()
	case "stop":
		h.Stop(attachment.Release{ID: h.ID(), LastUsed: tickOf(a[1])}, fresh)
	}
	request, want, _ := h.Want()
	g, _ := h.Grant()
	out := fmt.Sprintf("%v [%d, %d)", h.Phase(), g.From, g.Until)
	if h.Cause() != nil {
		out += " " + strings.TrimSpace(refused(h.Cause()))
	}
	switch request {
	case Load:
		out += "; wants to read"
	case Swap:
		out += "; wants " + strings.TrimSpace(show(want))
	}
	return out + "\n"
}
