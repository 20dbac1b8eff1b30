package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Phase is the state of one life of a sequencer.
type Phase uint8

// The phases of a life (H7).
const (
	Alive      Phase = iota // attachments take records
	Destroying              // records are being closed
	Destroyed               // all records are closed; the name may be created again
)

var phaseNames = [...]string{Alive: "alive", Destroying: "destroying", Destroyed: "destroyed"}

// String returns the phase's name.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// MarshalText returns the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return marshalName(p, phaseNames[:], "a sequencer") }

// UnmarshalText reads a phase's name.
func (p *Phase) UnmarshalText(text []byte) error { return unmarshalName(p, phaseNames[:], text) }

// Document is the record for a sequencer itself: its definition and its life.
//
//	        BeginDestroy              EndDestroy
//	alive --------------> destroying ------------> destroyed
//	  ^                    all records are closed      |
//	  +------------------------------------------------+
//	                 Recreate, with the next life
type Document struct {
	Definition sequencer.Definition
	Life       attachment.Life
	Phase      Phase
	// Mark is the first tick that was never granted in the lives before, and in
	// this one too once it is Destroyed.
	Mark clustertime.Tick
	// Initialized reports that the marker and all initial records were written, in this life or an
	// earlier one with the same node range: from then on a missing record is damage (H11).
	Initialized bool
	// Counted is the life whose nodes the marker counts: the last one with another range than the life before,
	// zero if there is none.
	Counted attachment.Life
	// Window is the window of all clients, if the store may lose acknowledged writes; 0: not stated.
	// Later lives have the same.
	Window clustertime.Span
	Nonce  string // different in every body
}

// NewDocument returns the document for a name that the store does not contain.
func NewDocument(def sequencer.Definition, random [8]byte, nonce string) Document {
	return Document{Definition: def, Life: NewLife(1, random), Nonce: nonce}
}

// Initialize returns the document with Initialized set, after its marker and records were written.
// It returns false if Initialized is already set.
func (d Document) Initialize(nonce string) (Document, bool) {
	if d.Initialized {
		return d, false
	}
	d.Initialized, d.Nonce = true, nonce
	return d, true
}

// State returns the document with a window. It returns false if it already has one.
func (d Document) State(window clustertime.Span, nonce string) (Document, bool) {
	if d.Window != 0 {
		return d, false
	}
	d.Window, d.Nonce = window, nonce
	return d, true
}

// BeginDestroy returns the document with its life in the phase destroying. It returns false if the
// destruction has already begun.
func (d Document) BeginDestroy(nonce string) (Document, bool) {
	if d.Phase != Alive {
		return d, false
	}
	d.Phase, d.Nonce = Destroying, nonce
	return d, true
}

// EndDestroy returns the document with its life ended, and the mark computed from all its records.
// records must be complete, and read after the marker was sealed.
//
// Errors: ErrDamaged if the life is not being destroyed, or a record is not closed for it.
func (d Document) EndDestroy(records []Record, nonce string) (Document, error) {
	if d.Phase != Destroying {
		return Document{}, failure.Errorf(ErrDamaged, "record: the sequencer is %v, not being destroyed", d.Phase)
	}
	for _, r := range records {
		if r.State != Closed || r.Life != d.Life {
			return Document{}, failure.Errorf(ErrDamaged, "record: a record is %v in life %v, not closed for life %v", r.State,
				r.Life, d.Life)
		}
		d.Mark = max(d.Mark, r.Bound)
	}
	d.Phase, d.Nonce = Destroyed, nonce
	return d, nil
}

// Recreate returns the document for the name's next life, which grants nothing below this life's
// mark, and issues no ID of this life.
//
// Errors: ErrDamaged if this life has not ended, or has the last number; sequencer.ErrConflict if IDs
// with the definition could repeat earlier ones.
func (d Document) Recreate(def sequencer.Definition, random [8]byte, nonce string) (Document, error) {
	if d.Phase != Destroyed {
		return Document{}, failure.Errorf(ErrDamaged, "record: the sequencer is %v, so no other life can begin", d.Phase)
	}
	if LifeNumber(d.Life) == math.MaxUint64 {
		return Document{}, failure.Errorf(ErrDamaged, "record: life %v has the last number; restore a backup of the document",
			d.Life)
	}
	if err := attachment.CheckRepeat(d.Definition, d.Mark, def); err != nil {
		return Document{}, err
	}
	moved := def.Config().NodeRange != d.Definition.Config().NodeRange
	d.Definition, d.Life = def, NewLife(LifeNumber(d.Life)+1, random)
	if moved {
		d.Initialized, d.Counted = false, d.Life // the marker counts other nodes
	}
	d.Phase, d.Nonce = Alive, nonce
	return d, nil
}

// Ended reports whether a life has ended, or begun to end. A later life than the document's has not: the
// document was read before.
func (d Document) Ended(life attachment.Life) bool {
	return life != d.Life && !earlier(d.Life, life) || life == d.Life && d.Phase != Alive
}

// Ref returns the life for a handle.
func (d Document) Ref() attachment.Ref {
	return attachment.Ref{Definition: d.Definition, Life: d.Life, Born: attachment.Revision{Term: LifeNumber(d.Life)}}
}

// windowMax is the longest window in milliseconds, 24 h.
const windowMax clustertime.Span = 86_400_000

// documentBody is a document as JSON.
type documentBody struct {
	Name        string              `json:"name"`
	Epoch       int64               `json:"epoch"` // Unix ms
	Nodes       int                 `json:"nodes"`
	Layout      sequencer.Layout    `json:"layout,omitzero"`
	NodeRange   sequencer.NodeRange `json:"node_range,omitzero"`
	Life        attachment.Life     `json:"life"`
	State       Phase               `json:"state"`
	Mark        clustertime.Tick    `json:"mark"`
	Initialized bool                `json:"initialized"`
	Counted     attachment.Life     `json:"counted,omitzero"`
	Window      clustertime.Span    `json:"window_ms,omitzero"`
	Nonce       string              `json:"nonce"`
}

// Encode returns the document's body. It panics if DecodeDocument would reject the document.
func (d Document) Encode() []byte {
	cfg := attachment.ShortConfig(d.Definition)
	return encode("a document", documentBody{
		d.Definition.Name(), cfg.Epoch.UnixMilli(), cfg.Nodes, cfg.Layout, cfg.NodeRange, d.Life, d.Phase, d.Mark,
		d.Initialized, d.Counted, d.Window, d.Nonce,
	}, d.check())
}

// DecodeDocument reads a document's body.
//
// Errors: ErrDamaged.
func DecodeDocument(text []byte) (Document, error) {
	var b documentBody
	if err := decodeStrictly(text, &b); err != nil {
		return Document{}, failure.Errorf(ErrDamaged, "record: document %s: %w", excerpt(text), err)
	}
	cfg := sequencer.Config{Epoch: epoch.UnixMilli(b.Epoch), Nodes: b.Nodes, Layout: b.Layout, NodeRange: b.NodeRange}
	def, err := sequencer.Define(b.Name, cfg)
	if err == nil && (cfg.Epoch.UnixMilli() != b.Epoch || attachment.ShortConfig(def) != cfg) {
		err = fmt.Errorf("epoch %d, %d nodes, layout %v or node range %v differ from the definition %v",
			b.Epoch, b.Nodes, b.Layout, b.NodeRange, def)
	}
	d := Document{Definition: def, Life: b.Life, Phase: b.State, Mark: b.Mark, Initialized: b.Initialized,
		Counted: b.Counted, Window: b.Window, Nonce: b.Nonce}
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return Document{}, failure.Errorf(ErrDamaged, "record: document %s: %w", excerpt(text), err)
	}
	return d, nil
}

// check returns an error if the rules cannot produce the document.
func (d Document) check() error {
	switch {
	case d.Definition == (sequencer.Definition{}):
		return fmt.Errorf("it has no definition")
	case LifeNumber(d.Life) == 0:
		return fmt.Errorf("life %v has number 0", d.Life)
	case d.Mark < 0 || d.Mark > clustertime.Latest:
		return fmt.Errorf("mark %d is outside 0 to %d", d.Mark, clustertime.Latest)
	case d.Window < 0 || d.Window > windowMax:
		return fmt.Errorf("window %d ms is outside 0 to %d ms", d.Window, windowMax)
	case d.Nonce == "" || len(d.Nonce) > textMax || !utf8.ValidString(d.Nonce):
		return fmt.Errorf("its nonce has %d bytes: give 1 to %d of UTF-8", len(d.Nonce), textMax)
	}
	return nil
}

// NewLife returns the identity for a name's life with this number, from 1 on. Identities order by
// number, so that a record identifies the later one among two lives; the random half distinguishes
// lives with equal numbers after a store was emptied.
func NewLife(number uint64, random [8]byte) (life attachment.Life) {
	binary.BigEndian.PutUint64(life[:8], number)
	copy(life[8:], random[:])
	return life
}

// LifeNumber returns the number that NewLife was given.
func LifeNumber(life attachment.Life) uint64 { return binary.BigEndian.Uint64(life[:8]) }

// earlier reports whether a is a life before b: one with a smaller number.
func earlier(a, b attachment.Life) bool { return bytes.Compare(a[:8], b[:8]) < 0 }
