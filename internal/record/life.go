package record

import (
	"bytes"
	"encoding/binary"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

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
