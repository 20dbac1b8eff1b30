package record

import (
	"fmt"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Marker is written after all records of a new sequencer: from then on a missing record is damage.
type Marker struct {
	// Slots is the number of records in use, for the lowest nodes of the definition's range.
	Slots int `json:"slots"`
	// Made is the number of existing records, from the lowest node on; those from Slots on are retired.
	Made int `json:"made"`
	// Life is the life for whose node range Slots and Made were counted, zero for the first one's.
	Life attachment.Life `json:"life,omitzero"`
	// Sealed is the last life that began to end, zero if none has: for it and the
	// lives before no more records are made (H10).
	Sealed attachment.Life `json:"sealed"`
	Nonce  string          `json:"nonce"` // different in every body
}

// Seal returns the marker sealed for a life that is being destroyed: records created for it later
// do not count. It returns false if the marker is already sealed.
//
// Errors: sequencer.ErrDestroyed if a later life was sealed.
func (m Marker) Seal(life attachment.Life, nonce string) (Marker, bool, error) {
	switch {
	case m.Sealed == life:
		return m, false, nil
	case earlier(life, m.Sealed):
		return Marker{}, false, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	}
	m.Sealed, m.Nonce = life, nonce
	return m, true, nil
}

// Move returns the marker for the nodes of a life whose range differs from the range of the life before
// (H11). The records below slots must exist.
//
// Errors: sequencer.ErrDestroyed if the life is sealed.
func (m Marker) Move(life attachment.Life, slots int, nonce string) (Marker, error) {
	if m.Ended(life) || earlier(life, m.Life) {
		return Marker{}, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	}
	m.Slots, m.Made, m.Life, m.Nonce = slots, slots, life, nonce
	return m, nil
}

// Ended reports whether a life is sealed. Its attachments take no more records: the marker may count the
// nodes of a later life.
func (m Marker) Ended(life attachment.Life) bool { return !earlier(m.Sealed, life) }

// Resize returns the marker with a new slot count. The records below slots must exist.
//
// Errors: sequencer.ErrDestroyed if the life is sealed.
func (m Marker) Resize(life attachment.Life, slots int, nonce string) (Marker, error) {
	if m.Ended(life) {
		return Marker{}, fmt.Errorf("record: %w", sequencer.ErrDestroyed)
	}
	m.Slots, m.Made, m.Nonce = slots, max(m.Made, slots), nonce
	return m, nil
}

// Encode returns the marker's body.
func (m Marker) Encode() []byte { return encode("a marker", m, m.check()) }

// DecodeMarker reads a marker's body.
//
// Errors: ErrDamaged.
func DecodeMarker(text []byte) (m Marker, err error) {
	if err = decodeStrictly(text, &m); err == nil {
		err = m.check()
	}
	if err != nil {
		return Marker{}, failure.Errorf(ErrDamaged, "record: marker %s: %w", excerpt(text), err)
	}
	return m, nil
}

// slotsMax is a sequencer's largest node count.
const slotsMax = 1 << 16

// check returns an error if the rules cannot produce the marker.
func (m Marker) check() error {
	switch {
	case m.Slots < 1 || m.Made < m.Slots || m.Made > slotsMax:
		return fmt.Errorf("%d slots of %d records are not 1 to %d of as many", m.Slots, m.Made, slotsMax)
	case m.Nonce == "" || len(m.Nonce) > textMax || !utf8.ValidString(m.Nonce):
		return fmt.Errorf("its nonce has %d bytes: give 1 to %d of UTF-8", len(m.Nonce), textMax)
	}
	return nil
}
