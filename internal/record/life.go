package record

import (
	"bytes"
	"encoding/binary"

	"github.com/snowgrid/snowgrid/sequencer"
)

// NewLife returns the identity of the number-th life of a name, from 1 on. Identities
// order by number, so that a record shows which of two lives is the later one; the random
// half tells a name's lives apart from those of a store that was emptied.
func NewLife(number uint64, random [8]byte) (life sequencer.Life) {
	binary.BigEndian.PutUint64(life[:8], number)
	copy(life[8:], random[:])
	return life
}

// LifeNumber returns the number that NewLife was given.
func LifeNumber(life sequencer.Life) uint64 { return binary.BigEndian.Uint64(life[:8]) }

// earlier reports whether a is a life before b: one with a smaller number.
func earlier(a, b sequencer.Life) bool { return bytes.Compare(a[:8], b[:8]) < 0 }
