package explore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// RecordScope bounds an exploration of records in a store: which attachments may use which
// timestamps in which logical node, if every swap may be applied at any time, its reply may arrive
// late or never, and no clock is right.
type RecordScope struct {
	Name        string
	Nodes       int // logical nodes with a record, 1 or 2
	Attachments int // 1 to 3
	Ticks       int // grants lie in 0..Ticks, at most 8
	Lives       int // of the sequencer, including the first one
	Operations  int // by the operator: retire, restore, repair
	Deletes     int // lost records; nothing in the protocol loses one
	Resends     bool
	Looks       bool // unsolicited reads, and holdings that expire
	Late        bool // the reply to a read may be older than the record
	Fine        bool // attachments with no applicable request stay distinct, for mutants that revive them
}

const (
	maxSlots = 2
	maxUsers = 3
)

// RecordWeakness is one omitted rule about records.
type RecordWeakness int

// The weaknesses outside the record machine. The others are lines in its source.
const (
	RecordsNone       RecordWeakness = iota
	RecordsInMachine                 // none here: a line in package record, by proof/mutants
	SwapsUnchecked                   // H1: the store ignores conditions
	OlderBound                       // H1: a body computed from a staler read than its revision
	ReturnedInUse                    // H5: the record is returned, but IDs are still issued
	MissingMadeAfresh                // H6: a missing record is created as for a new sequencer
	MissingSkipped                   // H7: a destroy continues without a missing record
	NoNonces                         // H9: the same nonce in every body

	recordWeaknesses // their number
)

// recordWorld is one state of the store and of the attachments. The values it points to are
// immutable.
type recordWorld struct {
	document record.Document
	slots    [maxSlots]recordSlot
	users    [maxUsers]recordUser
	steps    int8 // by the operator
	deletes  int8
	named    int // nonces and revisions given so far
}

// recordSlot is one record in the store.
type recordSlot struct {
	record   *record.Record // nil: missing
	revision string
	before   *record.Record // the replaced one; for a weakness
}

// recordUser is one attachment, its holding and its sent requests.
type recordUser struct {
	open    bool
	bounds  record.Bounds // read when it opened
	holding *record.Holding
	node    sequencer.NodeID
	stopped bool
	rights  uint16 // ticks that it has used or may use
	sent    []sentRecord
	loaded  *record.Seen // the reply to a read in progress
}

// sentRecord is a sent body, with all its copies.
type sentRecord struct {
	body     *record.Record
	revision string // the revision to replace
	copies   int
	landed   string // the resulting revision
}

// recordLab explores a scope.
type recordLab struct {
	scope   RecordScope
	weak    RecordWeakness
	encoder recordEncoder
}

// SearchRecords tries every step that a scope allows, with the rule weak omitted. It ends at the
// first state in which a tick may be used twice.
func SearchRecords(s RecordScope, weak RecordWeakness, limits Limits) Result {
	return searchSpace(&recordLab{scope: s, weak: weak}, limits)
}

// recordDefinition is the sequencer's definition in every scope.
func recordDefinition() sequencer.Definition {
	def, err := sequencer.Define(name, sequencer.Config{Nodes: 128})
	if err != nil {
		panic(err)
	}
	return def
}

func (l *recordLab) start() recordWorld {
	var w recordWorld
	w.document = record.NewDocument(recordDefinition(), [8]byte{}, l.nonce(&w))
	for i := range l.scope.Nodes {
		r := record.Born(w.document.Life, l.nonce(&w))
		w.slots[i] = recordSlot{record: &r, revision: w.fresh()}
	}
	return w
}

// fresh returns an unused text.
func (w *recordWorld) fresh() string {
	w.named++
	return strconv.Itoa(w.named)
}

// nonce returns a nonce for a new body.
func (l *recordLab) nonce(w *recordWorld) string {
	if l.weak == NoNonces {
		return "same"
	}
	return w.fresh()
}

// write replaces a record.
func (l *recordLab) write(w *recordWorld, node int, r *record.Record) {
	s := recordSlot{record: r, revision: w.fresh()}
	if l.weak == OlderBound {
		s.before = w.slots[node].record
	}
	w.slots[node] = s
}

// change runs a function on an attachment's holding, and counts what it may use from then on.
func (w *recordWorld) change(u int, do func(h *record.Holding)) {
	user := &w.users[u]
	h := *user.holding
	before, had := h.Grant()
	do(&h)
	if after, has := h.Grant(); has && (!had || after != before) {
		user.rights |= grantTicks(after)
	}
	user.holding = &h
	user.sent = slices.DeleteFunc(slices.Clone(user.sent), func(s sentRecord) bool { return !w.matters(user, s) })
}

// matters reports whether a sent body may be applied, or may get a relevant reply.
func (w *recordWorld) matters(user *recordUser, s sentRecord) bool {
	_, pending, _ := user.holding.Want()
	return s.landed == "" && w.slots[user.node].revision == s.revision ||
		s.body.Nonce == pending.Nonce || s.body.Nonce == pendingNonce(user.holding)
}

// grantTicks returns a grant's ticks as bits.
func grantTicks(g attachment.Grant) uint16 { return below(g.Until) &^ below(g.From) }

// below returns the ticks below t as bits.
func below(t clustertime.Tick) uint16 { return 1<<max(0, t-base) - 1 }

func (l *recordLab) wrong(w *recordWorld) string {
	for i := range w.users {
		for j := range i {
			a, b := &w.users[j], &w.users[i]
			if both := a.rights & b.rights; both != 0 && (a.node == b.node || a.bounds.Life != b.bounds.Life) {
				return fmt.Sprintf("T%d and T%d may both use %s: T%d of node %d in life %d, T%d of node %d in life %d", j+1, i+1,
					tellTicks(both),
					j+1, a.node, record.LifeNumber(a.bounds.Life), i+1, b.node, record.LifeNumber(b.bounds.Life))
			}
		}
	}
	return ""
}

func tellTicks(bits uint16) string {
	var out []int
	for t := range 16 {
		if bits&(1<<t) != 0 {
			out = append(out, t)
		}
	}
	return fmt.Sprintf("ticks %v", out)
}

// tellRecord describes a record.
func tellRecord(r *record.Record) string {
	if r == nil {
		return "missing"
	}
	text := fmt.Sprintf("%v, life %d, bound %d", r.State, record.LifeNumber(r.Life), max(0, r.Bound-base))
	if r.State == record.Held {
		text += fmt.Sprintf(", T%d from %d until %d", r.Attachment[0], r.From-base, r.Until-base)
	}
	if r.Generation != "" {
		text += ", generation " + r.Generation
	}
	return text
}

var errMissing = errors.New("no record")
