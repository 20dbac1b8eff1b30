package partition

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// world is one partition as the protocol lets it be at worst: the owner of the
// newest term, owners of earlier terms that do not know of their end, holders with
// attachments that an owner may have forgotten, and a ceiling that reaches owners
// late. Its ledger has every timestamp that a holder may use.
type world struct {
	now, ceiling clustertime.Tick
	version      uint64
	lostTerm     uint64
	births       uint64
	owners       []*owner // the last one is the newest
	holders      []*holder
	lives        []attachment.Ref
	ledger       map[place][]right
}

// place is a logical node of a name, in whatever life.
type place struct {
	name string
	node sequencer.NodeID
}

// right is a rectangle and who has it.
type right struct {
	holder *holder
	attachment.Grant
}

// owner is an owner with its table, and what its backups hold of it: the table as
// of the last operation, without the renewals since.
type owner struct {
	table    *Table
	term     uint64
	ceiling  clustertime.Tick
	lostTerm uint64
	backups  TableState
	over     endOf
	sessions *Sessions
	unacked  bool // it made a change that its backups did not take
}

// endOf is the end of an owner's term. An owner whose backup has taken over gets no more
// acknowledgements; one whose partition was lost may still have all that it needs.
type endOf int

const (
	stillOwner endOf = iota
	takenOver
	lostTable
)

// holder is one attachment.
type holder struct {
	id      attachment.ID
	ref     attachment.Ref
	node    sequencer.NodeID
	placed  bool
	told    attachment.Attachment // the last whole answer
	gone    bool                  // detached: answers are ignored
	version uint64
}

// TestTableNeverGrantsTwice: whatever operations reach whichever owner, no two
// attachments have a timestamp of a node in common, and the table's invariant holds.
func TestTableNeverGrantsTwice(t *testing.T) {
	operations := map[string]func(*world, *rapid.T){
		"time":     (*world).passTime,
		"raise":    (*world).raise,
		"learn":    (*world).learn,
		"create":   (*world).create,
		"attach":   (*world).attach,
		"again":    (*world).attachAgain,
		"renew":    (*world).renew,
		"known":    (*world).known,
		"detach":   (*world).detach,
		"expire":   (*world).expire,
		"destroy":  (*world).destroy,
		"fold":     (*world).fold,
		"together": (*world).renewTogether,
		"takeover": func(w *world, _ *rapid.T) { w.newOwner(false) },
		"loss":     func(w *world, _ *rapid.T) { w.newOwner(true) },
	}
	often := []string{"raise", "learn", "attach", "attach", "attach", "again", "renew", "renew", "renew", "together",
		"together", "together", "detach", "expire"}
	for name := range operations {
		often = append(often, name)
	}
	slices.Sort(often)
	rapid.Check(t, func(t *rapid.T) {
		w := &world{ceiling: 10, ledger: map[place][]right{}}
		w.newOwner(true)
		for range rapid.IntRange(1, 150).Draw(t, "operations") {
			operations[rapid.SampledFrom(often).Draw(t, "operation")](w, t)
			w.check(t)
		}
	})
}

func (w *world) passTime(t *rapid.T) {
	w.now += clustertime.Tick(rapid.Int64Range(0, 30).Draw(t, "elapsed"))
}

func (w *world) raise(t *rapid.T) {
	w.ceiling = max(w.ceiling, w.now+clustertime.Tick(rapid.Int64Range(0, 50).Draw(t, "window")))
}

// learn tells the present owner of the ceiling; no earlier one, since the
// ceiling came with a later version.
func (w *world) learn(*rapid.T) { w.newest().ceiling = w.ceiling }

func (w *world) newest() *owner { return w.owners[len(w.owners)-1] }

// newOwner appoints an owner: one of the backups, or after a loss any member.
func (w *world) newOwner(lost bool) {
	w.version++
	o := &owner{table: NewTable(), term: w.version, ceiling: w.ceiling, sessions: NewSessions(time.Hour, 0)}
	if lost {
		w.lostTerm = w.version
	}
	o.lostTerm = w.lostTerm
	if len(w.owners) > 0 {
		before := w.newest()
		o.table.Restore(before.backups)
		before.over = takenOver
		if lost {
			before.over = lostTable
		}
	}
	o.table.BecomeOwner(w.ceiling, lost, true)
	o.backups = o.table.Snapshot()
	for _, tenant := range o.table.Tenants() {
		o.sessions.Show(tenant, 0)
	}
	w.owners = append(w.owners, o)
}

// on does something at one of the owners, mostly the present one. If it changed
// the table, it counts only once the backups hold it; so on reports whether the
// answer leaves the owner.
func (w *world) on(t *rapid.T, f func(o *owner, b Bounds) (changed bool, err error)) bool {
	o := w.newest()
	if rapid.IntRange(0, 2).Draw(t, "earlier") == 0 {
		o = rapid.SampledFrom(w.owners).Draw(t, "owner")
	}
	before := o.table.Snapshot()
	b := Bounds{Now: w.now, Ceiling: o.ceiling}
	if rapid.IntRange(0, 3).Draw(t, "less") == 0 { // a grant may end before the ceiling
		b.Ceiling -= min(b.Ceiling, clustertime.Tick(rapid.Int64Range(0, 30).Draw(t, "by")))
	}
	changed, err := f(o, b)
	if err != nil {
		if !reflect.DeepEqual(before, o.table.Snapshot()) {
			t.Fatalf("%v, and yet something changed:\n%+v\n%+v", err, before, o.table.Snapshot())
		}
		return false
	}
	switch {
	case changed && o.over == takenOver:
		o.table.Restore(before)
		o.unacked = true
		return false
	case changed:
		o.backups = o.table.Snapshot()
	case !reflect.DeepEqual(withoutFree(before), withoutFree(o.table.Snapshot())):
		t.Fatalf("changed, without saying so:\n%+v\n%+v", before, o.table.Snapshot())
	}
	return true
}

// withoutFree leaves out the fields that a renewal changes without replication.
func withoutFree(s TableState) TableState {
	for i := range s.Records {
		s.Records[i].Slots = slices.Clone(s.Records[i].Slots)
		for j := range s.Records[i].Slots {
			if !s.Records[i].Slots[j].ID.IsZero() {
				s.Records[i].Slots[j].Free = 0
			}
		}
	}
	return s
}

func (w *world) create(t *rapid.T) {
	name := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
	def, err := sequencer.Define(name, sequencer.Config{Nodes: 128, Epoch: epoch.UnixMilli(int64(name[0]-'x') * 20)})
	if err != nil {
		t.Fatal(err)
	}
	w.births++
	ref := attachment.Ref{Definition: def, Life: attachment.Life(identity(fmt.Sprint(w.births)))}
	w.on(t, func(o *owner, b Bounds) (bool, error) {
		ref.Born = attachment.Revision{Term: o.term, Number: w.births}
		got, changed, err := o.table.Create(ref, b.Now)
		if err == nil && !slices.Contains(w.lives, got) {
			w.lives = append(w.lives, got)
		}
		return changed, err
	})
}

func (w *world) drawHolder(t *rapid.T) *holder {
	if len(w.holders) == 0 {
		return nil
	}
	last := len(w.holders) - 1
	return w.holders[last-rapid.IntRange(0, min(last, 7)).Draw(t, "holder")]
}

// attach makes a new attachment on one of the lives.
func (w *world) attach(t *rapid.T) {
	if len(w.lives) == 0 {
		return
	}
	last := len(w.lives) - 1
	h := &holder{
		id:      attachmentID(fmt.Sprint("h", len(w.holders))),
		ref:     w.lives[last-rapid.IntRange(0, min(last, 3)).Draw(t, "life")],
		version: w.version,
	}
	w.holders = append(w.holders, h)
	w.ask(t, h)
}

// attachAgain is a repeated or late attach.
func (w *world) attachAgain(t *rapid.T) {
	if h := w.drawHolder(t); h != nil {
		w.ask(t, h)
	}
}

func (h *holder) claim(o *owner) Claim {
	return Claim{
		Ref:        h.ref,
		ID:         h.id,
		Preference: attachment.Preference{Node: h.node},
		Trust:      Trust{Forgotten: h.version < o.lostTerm, Before: h.ref.Born.Term < o.lostTerm},
	}
}

func (w *world) ask(t *rapid.T, h *holder) {
	p := attachment.Preference{Node: sequencer.NodeID(rapid.IntRange(0, 2).Draw(t, "node")),
		Any: rapid.Bool().Draw(t, "any")}
	var a attachment.Attachment
	var version uint64
	if !w.on(t, func(o *owner, b Bounds) (changed bool, err error) {
		c := h.claim(o)
		c.Preference = p
		twin := NewTable()
		twin.Restore(o.table.Snapshot())
		a, changed, err = o.table.Attach(c, b)
		if b2, c2, err2 := twin.Attach(c, b); a != b2 || changed != c2 || (err == nil) != (err2 == nil) {
			t.Fatalf("a restored table answers %v, %v, %v instead of %v, %v, %v", b2, c2, err2, a, changed, err)
		}
		version = o.term
		o.shown(c.Ref, a, err)
		return changed, err
	}) || rapid.IntRange(0, 5).Draw(t, "answer lost") == 0 {
		return
	}
	if !h.placed {
		h.node, h.placed = a.Node, true
	}
	w.granted(t, h, a, version)
}

func (w *world) renew(t *rapid.T) {
	h := w.drawHolder(t)
	if h == nil || !h.placed {
		return
	}
	var a attachment.Attachment
	var version uint64
	if w.on(t, func(o *owner, b Bounds) (changed bool, err error) {
		a, changed, err = o.table.Renew(h.claim(o), b)
		if err == nil && a.Node != h.node {
			t.Fatalf("node %d's renewal is answered for node %d", h.node, a.Node)
		}
		version = o.term
		o.shown(h.ref, a, err)
		return changed, err
	}) {
		w.granted(t, h, a, version)
	}
}

// granted enters an answer into the ledger, unless the holder ignores it.
func (w *world) granted(t *rapid.T, h *holder, a attachment.Attachment, version uint64) {
	if h.gone || h.node != a.Node || a.ID != h.id {
		return
	}
	h.version, h.told = max(h.version, version), a
	if a.Grant.Empty() {
		return
	}
	at := place{h.ref.Definition.Name(), h.node}
	for _, r := range w.ledger[at] {
		if r.holder != h && r.From < a.Grant.Until && a.Grant.From < r.Until {
			t.Fatalf("%v node %d: %s was granted %v, now %s is granted %v", at.name, at.node,
				letters(r.holder.id), r.Grant, letters(h.id), a.Grant)
		}
	}
	w.ledger[at] = append(w.ledger[at], right{h, a.Grant})
}

func (w *world) known(t *rapid.T) {
	if h := w.drawHolder(t); h != nil {
		w.on(t, func(o *owner, _ Bounds) (bool, error) {
			changed, err := o.table.Known(h.claim(o))
			o.replaced(h.ref)
			return changed, err
		})
	}
}

// detach is a holder's last word: it used up to some timestamp that it had, and
// nothing above. The word may get lost.
func (w *world) detach(t *rapid.T) {
	h := w.drawHolder(t)
	if h == nil || !h.placed || h.gone {
		return
	}
	h.gone = true
	at := place{h.ref.Definition.Name(), h.node}
	var kept, mine []right
	for _, r := range w.ledger[at] {
		if r.holder == h {
			mine = append(mine, r)
		} else {
			kept = append(kept, r)
		}
	}
	last := clustertime.Tick(0)
	if len(mine) > 0 && rapid.Bool().Draw(t, "used any") {
		r := rapid.SampledFrom(mine).Draw(t, "right")
		last = clustertime.Tick(rapid.Int64Range(int64(r.From), int64(r.Until-1)).Draw(t, "last used"))
	}
	for _, r := range mine {
		if r.Until = min(r.Until, last+1); last > 0 && !r.Empty() {
			kept = append(kept, r)
		}
	}
	w.ledger[at] = kept
	if rapid.IntRange(0, 5).Draw(t, "word lost") > 0 {
		w.on(t, func(o *owner, _ Bounds) (bool, error) {
			o.sessions.Drop(h.ref.Definition.Name(), h.id)
			return o.table.Detach(h.ref, attachment.Release{ID: h.id, Node: h.node, LastUsed: last}), nil
		})
	}
}

func (w *world) expire(t *rapid.T) {
	if h := w.drawHolder(t); h != nil {
		w.on(t, func(o *owner, _ Bounds) (bool, error) {
			until := o.lapsed(h)
			return o.table.Expire(h.ref.Definition.Name(), h.node, h.id, until), nil
		})
	}
}

func (w *world) destroy(t *rapid.T) {
	if len(w.lives) == 0 {
		return
	}
	ref := rapid.SampledFrom(w.lives).Draw(t, "life")
	w.on(t, func(o *owner, _ Bounds) (bool, error) {
		err := o.table.Destroy(ref)
		if err == nil {
			o.sessions.DropName(ref.Definition.Name())
		}
		if err != nil && !errors.Is(err, sequencer.ErrDestroyed) && !errors.Is(err, sequencer.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil, err
	})
}

func (w *world) fold(t *rapid.T) {
	w.on(t, func(o *owner, b Bounds) (bool, error) { return o.table.Fold(b.Now, 0), nil })
}

// check holds the table of the present owner against the invariant that its comment states,
// and against its own copy.
func (w *world) check(t *rapid.T) {
	table := w.newest().table
	checkCensus(t, table)
	copied := NewTable()
	copied.Restore(table.Snapshot())
	if !reflect.DeepEqual(table.Snapshot(), copied.Snapshot()) {
		t.Fatalf("a copy differs:\n%+v\n%+v", table.Snapshot(), copied.Snapshot())
	}
	for at, rights := range w.ledger {
		below, recorded := table.base, attachment.ID{}
		free := below
		if r := table.records[at.name]; r != nil {
			below, free = r.Free, r.Free
			if r.Destroyed {
				below, free = r.Mark, r.Mark
			} else if s := r.slot(at.node); s != nil {
				counted := *s
				table.count(&counted)
				below, free, recorded = counted.Free, counted.Free, s.ID
				if !recorded.IsZero() {
					below = s.From
				}
			}
		}
		for _, r := range rights {
			if r.holder.id != recorded && r.Until > below || r.Until > free {
				t.Fatalf("%v: %s has %v, the table says from %d free %d of %s", at, letters(r.holder.id), r.Grant, below, free,
					letters(recorded))
			}
		}
	}
}
