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
// timestamps of which logical node, if every swap may land at any time, its answer may come
// late or never, and no clock is right.
type RecordScope struct {
	Name        string
	Nodes       int // logical nodes with a record, 1 or 2
	Attachments int // 1 to 3
	Ticks       int // grants lie in 0..Ticks, at most 8
	Lives       int // of the sequencer, the one at the start included
	Operations  int // steps of the operator: retire, restore, repair
	Deletes     int // records that are lost, as nothing in the protocol does
	Resends     bool
	Looks       bool // reads that nothing asks for, and holdings that expire
	Late        bool // the answer to a read may be older than the record
	Fine        bool // attachments whose requests cannot land stay distinct, for mutants that revive them
}

const (
	maxSlots = 2
	maxUsers = 3
)

// RecordWeakness is one rule about records left out.
type RecordWeakness int

// The weaknesses outside of the record machine. The others are lines of its source.
const (
	RecordsNone       RecordWeakness = iota
	RecordsInMachine                 // none here: a line of package record, by proof/mutants
	SwapsUnchecked                   // H1: the store ignores conditions
	OlderBound                       // H1: a body computed from a staler read than its revision
	ReturnedInUse                    // H5: the record is returned, and IDs are issued all the same
	MissingMadeAfresh                // H6: a missing record is created like one of a new sequencer
	MissingSkipped                   // H7: a destroy continues without a missing record
	NoNonces                         // H9: the same nonce in every body

	recordWeaknesses // how many there are
)

// recordWorld is one state of the store and of the attachments. What it points to is never
// changed.
type recordWorld struct {
	document record.Document
	slots    [maxSlots]recordSlot
	users    [maxUsers]recordUser
	steps    int8 // of the operator
	deletes  int8
	named    int // nonces and revisions given so far
}

// recordSlot is one record in the store.
type recordSlot struct {
	record   *record.Record // nil: missing
	revision string
	before   *record.Record // the one that it replaced; of a weakness
}

// recordUser is one attachment, its holding and the requests that it sent.
type recordUser struct {
	open    bool
	bounds  record.Bounds // what it read when it opened
	holding *record.Holding
	node    sequencer.NodeID
	stopped bool
	rights  uint16 // ticks that it has used or may use
	sent    []sentRecord
	loaded  *record.Seen // the answer of a read in progress
}

// sentRecord is a body that was sent, with all of its copies.
type sentRecord struct {
	body     *record.Record
	revision string // that it replaces
	copies   int
	landed   string // the revision that it got
}

// recordLab is the space of a scope.
type recordLab struct {
	scope   RecordScope
	weak    RecordWeakness
	encoder recordEncoder
}

// SearchRecords tries everything that a scope allows, with a rule left out if weak says
// so, and ends at the first state in which something may be used twice.
func SearchRecords(s RecordScope, weak RecordWeakness, limits Limits) Result {
	return searchSpace(&recordLab{scope: s, weak: weak}, limits)
}

// recordDefinition is the definition of the sequencer in every scope.
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

// fresh returns a text that was not used before.
func (w *recordWorld) fresh() string {
	w.named++
	return strconv.Itoa(w.named)
}

// nonce returns one for a new body.
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

// change lets an attachment do something, and counts what it may use from then on.
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

// matters reports whether a sent body may land, or its answer may say something.
func (w *recordWorld) matters(user *recordUser, s sentRecord) bool {
	_, pending, _ := user.holding.Want()
	return s.landed == "" && w.slots[user.node].revision == s.revision ||
		s.body.Nonce == pending.Nonce || s.body.Nonce == pendingNonce(user.holding)
}

// grantTicks returns the ticks of a grant as bits.
func grantTicks(g attachment.Grant) uint16 { return below(g.Until) &^ below(g.From) }

// below returns the ticks below one as bits.
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

// tellRecord says a record in words.
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
