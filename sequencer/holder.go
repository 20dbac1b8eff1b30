package sequencer

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// HolderID names a process that generates IDs, for as long as it lives.
type HolderID string

// Short returns the beginning of the ID, for people and logs. All of it is a secret: a
// process that knows it may renew in the holder's place.
func (h HolderID) Short() HolderID { return h[:min(len(h), 8)] }

// Print is a fingerprint of one handle as its holder and its owner see it. Prints
// of several are combined by [Print.With] in any order.
type Print [16]byte

// PrintOf returns the print of a handle: its life, and its attachment with the
// start of the grant that was answered last, or a zero Attachment while it is
// Detached. Two handles, or one before and after a gap in its grant, have
// different prints.
func PrintOf(life Life, a Attachment) (p Print) {
	text := slices.Concat(life[:], a.ID[:])
	text = binary.BigEndian.AppendUint16(text, uint16(a.Node))
	text = binary.BigEndian.AppendUint64(text, uint64(a.Grant.From))
	sum := sha256.Sum256(text)
	copy(p[:], sum[:])
	return p
}

// With adds a print that is not among the combined ones, or takes out one that is.
func (p Print) With(q Print) Print {
	for i := range p {
		p[i] ^= q[i]
	}
	return p
}
