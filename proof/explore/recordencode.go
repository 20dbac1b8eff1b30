package explore

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
)

// holdingFields are a holding's fields, by offset. The encoding omits the ones without an effect: a
// cause is for display, and identities follow from the user.
var holdingFields = placesOf(reflect.TypeFor[record.Holding](),
	"id", "node", "phase", "cause", "now", "revision", "grant", "landed", "pending", "copies", "read", "refused",
	"rel", "dropped")

// placesOf returns the offsets of a type's fields. It panics if the type has others: then a
// developer has to decide whether they distinguish states.
func placesOf(t reflect.Type, names ...string) map[string]uintptr {
	places := map[string]uintptr{}
	for _, name := range names {
		f, found := t.FieldByName(name)
		if !found {
			panic("explore: " + t.String() + " has no field " + name)
		}
		places[name] = f.Offset
	}
	for i := range t.NumField() {
		if name := t.Field(i).Name; !slices.Contains(names, name) {
			panic("explore: " + t.String() + " has a field " + name + " that the encoding does not know")
		}
	}
	return places
}

func peek[T any](h *record.Holding, name string) T {
	return *(*T)(unsafe.Add(unsafe.Pointer(h), holdingFields[name]))
}

// pendingNonce returns the nonce in a holding's pending body, also while a read is pending.
func pendingNonce(h *record.Holding) string {
	if p := peek[*record.Record](h, "pending"); p != nil {
		return p.Nonce
	}
	return ""
}

func copiesOf(h *record.Holding) int { return peek[int](h, "copies") }

// recordEncoder encodes states. It numbers nonces and revisions in order of occurrence, since their
// values do not matter.
type recordEncoder struct{ names []string }

func (e *recordEncoder) name(b []byte, name string) []byte {
	if name == "" {
		return append(b, 0)
	}
	at := slices.Index(e.names, name)
	if at < 0 {
		at = len(e.names)
		e.names = append(e.names, name)
	}
	return append(b, byte(at+1))
}

func tick(b []byte, t clustertime.Tick) []byte { return append(b, byte(max(0, t-base+1))) }

// record encodes a record without the fields that no rule reads: task, version, known, last used
// and graceful.
func (e *recordEncoder) record(b []byte, r *record.Record) []byte {
	if r == nil {
		return append(b, 0)
	}
	b = append(b, byte(r.State)+1, r.Attachment[0], byte(record.LifeNumber(r.Life)))
	b = tick(tick(b, r.Bound), r.Timestamp)
	if r.State == record.Held {
		b = tick(tick(b, r.From), r.Until)
	}
	if r.Generation != "" {
		b = append(b, r.Generation[0])
	}
	return e.name(append(b, 0), r.Nonce)
}

// holding encodes the fields that later steps depend on.
func (e *recordEncoder) holding(b []byte, h *record.Holding) []byte {
	b = append(b, byte(h.Phase())+1)
	b = append(b, bit(peek[bool](h, "read")), byte(min(2, copiesOf(h))))
	if p := peek[*record.Record](h, "pending"); p != nil && (p.Generation != "" || h.Phase() == record.Taking) {
		b = append(b, bit(peek[bool](h, "refused"))) // no rule reads it otherwise
	}
	b = e.name(e.name(b, peek[string](h, "revision")), peek[string](h, "dropped"))
	if h.Phase() == record.Returning {
		b = tick(b, peek[attachment.Release](h, "rel").LastUsed)
	} else if g, landed := h.Grant(); landed {
		b = tick(tick(b, g.From), g.Until)
	}
	if now := h.Record(); h.Phase() == record.Holds || now.HeldBy(h.ID()) {
		b = e.record(b, &now)
	}
	return e.record(b, peek[*record.Record](h, "pending"))
}

func (e *recordEncoder) sent(b []byte, sent []sentRecord) []byte {
	b = append(b, byte(len(sent)))
	for _, s := range sent {
		b = e.name(e.name(e.record(b, s.body), s.revision), s.landed)
		b = append(b, byte(min(2, s.copies)))
	}
	return b
}

// isOver reports whether an attachment has no further effect: it may use its grants, and no write
// that it attempts can be applied.
func (l *recordLab) isOver(w *recordWorld, u *recordUser) bool {
	s := w.slots[u.node]
	switch {
	case len(u.sent) > 0 || l.scope.Fine:
		return false
	case u.holding.Phase() == record.Done || u.holding.Phase() == record.Lost:
		return true
	}
	return s.revision != peek[string](u.holding, "revision") && (s.record == nil || !s.record.HeldBy(u.holding.ID()))
}

func (l *recordLab) append(b []byte, w *recordWorld) []byte {
	e := &l.encoder
	e.names = e.names[:0]
	b = append(b, byte(record.LifeNumber(w.document.Life)), byte(w.document.Phase), byte(w.steps), byte(w.deletes))
	b = tick(b, w.document.Mark)
	for _, s := range w.slots[:l.scope.Nodes] {
		b = e.name(e.record(b, s.record), s.revision)
		if l.weak == OlderBound {
			b = e.record(b, s.before)
		}
	}
	for i := range w.users[:l.scope.Attachments] {
		u := &w.users[i]
		if !u.open {
			break
		}
		if u.holding == nil {
			b = tick(append(b, 0, byte(record.LifeNumber(u.bounds.Life))), u.bounds.Mark)
			continue
		}
		isOver := l.isOver(w, u)
		if b = append(b, bit(isOver)+1, byte(u.rights), byte(u.rights>>8)); isOver && u.rights == 0 {
			continue
		}
		if b = append(b, byte(record.LifeNumber(u.bounds.Life)), byte(u.node)); isOver {
			continue
		}
		b = e.sent(e.holding(append(b, bit(u.stopped)), u.holding), u.sent)
		if u.loaded != nil {
			b = e.name(e.record(append(b, 1, bit(u.loaded.Err != nil)), &u.loaded.Record), u.loaded.Revision)
		}
	}
	return b
}
