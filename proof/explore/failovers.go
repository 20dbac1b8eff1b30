package explore

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

// FailoverScope bounds an exploration of one record in a store with a server that may be replaced
// by another one that lacks acknowledged writes. Time is a common number; each reading of a clock
// is up to Skew ahead of it.
type FailoverScope struct {
	Name        string
	Attachments int // 1 to 3
	Ticks       int // time values
	Servers     int // one after another, at most 3
	Window      int // the grant window
	Skew        int // a clock's maximum error
	Late        int // D: the longest time that a replaced server acknowledges writes
	Created     bool
}

const maxServers = 3

// FailoverWeakness is one omitted quarantine rule.
type FailoverWeakness int

// The weaknesses outside the record machine. The others are lines in its source.
const (
	FailoversNone        FailoverWeakness = iota
	FailoversInMachine                    // none here: a line in package record, by proof/mutants
	WithoutLate                           // Q2: the quarantine is shorter by D
	WithoutSkew                           // Q2: ... by the clocks' error
	WithoutWindow                         // Q2: ... by the window
	GenerationReadBefore                  // Q3: the server does not compare the generation
	ReturnGrants                          // Q5: a return writes the server's generation
	BornGranted                           // Q5: a new record has the server's generation

	failoverWeaknesses // their number
)

// failoverWorld is one state. The values it points to are immutable.
type failoverWorld struct {
	now     int8
	newest  int8                           // server, from 1 on
	off     [maxServers + 1]int8           // 1 + when a server was replaced
	slots   [maxServers + 1]recordSlot     // by server
	replica recordSlot                     // the next server's initial content
	making  [maxServers + 1]*record.Record // a new record in transit
	users   [maxUsers]failoverUser
	named   int
}

// failoverUser is one attachment, its holding and its sent requests.
type failoverUser struct {
	holding *record.Holding
	stopped bool
	rights  uint16
	sent    []sentTo
}

// sentTo is a body in transit to a server.
type sentTo struct {
	sentRecord
	server int8
}

type failoverLab struct {
	scope   FailoverScope
	weak    FailoverWeakness
	encoder recordEncoder
	life    attachment.Life
}

// SearchFailovers tries every step that a scope allows, with the rule weak omitted. It ends at the
// first state in which a tick may be used twice.
func SearchFailovers(s FailoverScope, weak FailoverWeakness, limits Limits) Result {
	return searchSpace(&failoverLab{scope: s, weak: weak, life: record.NewLife(1, [8]byte{})}, limits)
}

func (w *failoverWorld) fresh() string {
	w.named++
	return strconv.Itoa(w.named)
}

func generation(server int8) string { return strconv.Itoa(int(server)) }

func (l *failoverLab) start() failoverWorld {
	w := failoverWorld{newest: 1}
	if l.scope.Created {
		r := record.Born(l.life, w.fresh())
		r.Generation = generation(1)
		w.slots[1] = recordSlot{record: &r, revision: w.fresh()}
		w.replica = w.slots[1]
	}
	return w
}

// isDead reports whether a server no longer acknowledges anything.
func (l *failoverLab) isDead(w *failoverWorld, v int8) bool {
	return w.off[v] != 0 && (l.scope.Late == 0 || int(w.now) > int(w.off[v])-1+l.scope.Late)
}

func (l *failoverLab) wrong(w *failoverWorld) string {
	for i := range w.users {
		for j := range i {
			if both := w.users[i].rights & w.users[j].rights; both != 0 {
				return fmt.Sprintf("T%d and T%d may both use %s", j+1, i+1, tellTicks(both))
			}
		}
	}
	return ""
}

// change runs a function on an attachment's holding, and counts what it may use from then on.
func (l *failoverLab) change(w *failoverWorld, u int, do func(h *record.Holding)) {
	user := &w.users[u]
	h := *user.holding
	before, had := h.Grant()
	do(&h)
	if after, has := h.Grant(); has && (!had || after != before) {
		user.rights |= grantTicks(after)
	}
	user.holding = &h
	l.prune(w, u)
}

// prune removes bodies that can neither be applied nor get a relevant reply.
func (l *failoverLab) prune(w *failoverWorld, u int) {
	user := &w.users[u]
	user.sent = slices.DeleteFunc(slices.Clone(user.sent), func(s sentTo) bool {
		lands := s.landed == "" && !l.isDead(w, s.server) && w.slots[s.server].revision == s.revision
		says := s.landed != "" && s.body.Nonce == pendingNonce(user.holding)
		return !lands && !says
	})
}

// settle removes everything without a possible effect, after a step by the servers.
func (l *failoverLab) settle(w *failoverWorld) {
	for u := range w.users {
		if w.users[u].holding != nil && len(w.users[u].sent) > 0 {
			l.prune(w, u)
		}
	}
	for v := int8(1); v <= w.newest; v++ {
		if l.isDead(w, v) {
			w.slots[v], w.making[v] = recordSlot{}, nil
		}
	}
	if int(w.newest) == l.scope.Servers {
		w.replica = recordSlot{}
	}
}

func (l *failoverLab) append(b []byte, w *failoverWorld) []byte {
	e := &l.encoder
	e.names = e.names[:0]
	b = append(b, byte(w.now), byte(w.newest))
	for v := int8(1); v <= w.newest; v++ {
		if l.isDead(w, v) {
			b = append(b, 0)
			continue
		}
		b = e.name(e.record(append(b, byte(w.off[v]+1)), w.slots[v].record), w.slots[v].revision)
		b = append(b, bit(w.making[v] != nil))
	}
	b = e.name(e.record(b, w.replica.record), w.replica.revision)
	low := below(l.lowest(w))
	for i := range w.users[:l.scope.Attachments] {
		u := &w.users[i]
		if u.holding == nil {
			break
		}
		rights := u.rights &^ low
		if l.isOver(w, u) {
			b = append(b, 1, byte(rights), byte(rights>>8))
			continue
		}
		b = append(b, bit(u.stopped)+2, byte(rights), byte(rights>>8))
		b = append(e.holding(b, u.holding), byte(len(u.sent)))
		for _, s := range u.sent {
			b = append(e.name(e.name(e.record(b, s.body), s.revision), s.landed), byte(s.server))
		}
	}
	return b
}

// isOver reports whether an attachment has no further effect: it may use its grants, and no write
// that it attempts can be applied.
func (l *failoverLab) isOver(w *failoverWorld, u *failoverUser) bool {
	if len(u.sent) > 0 {
		return false
	}
	if u.holding.Phase() == record.Done || u.holding.Phase() == record.Lost {
		return true
	}
	revision := peek[string](u.holding, "revision")
	knows := func(s recordSlot) bool {
		return s.record != nil && (s.revision == revision || s.record.HeldBy(u.holding.ID()))
	}
	return !knows(w.replica) && !slices.ContainsFunc(w.slots[:], knows)
}

// lowest returns a tick below which nothing more is granted.
func (l *failoverLab) lowest(w *failoverWorld) clustertime.Tick {
	low := base + clustertime.Tick(w.now)
	for i := range w.users {
		u := &w.users[i]
		for _, s := range u.sent {
			low = min(low, s.body.From)
		}
		if u.holding != nil && !l.isOver(w, u) {
			if g, landed := u.holding.Grant(); landed {
				low = min(low, g.Until)
			}
		}
	}
	return low
}

// quarantine returns the time span in Q2.
func (l *failoverLab) quarantine() clustertime.Span {
	span := l.scope.Window + l.scope.Skew + l.scope.Late
	switch l.weak {
	case WithoutLate:
		span -= l.scope.Late
	case WithoutSkew:
		span -= l.scope.Skew
	case WithoutWindow:
		span -= l.scope.Window
	}
	return clustertime.Span(span)
}
