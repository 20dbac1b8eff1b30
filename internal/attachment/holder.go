package attachment

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// HolderID identifies a process that generates IDs, for the life of the process.
type HolderID string

// Short returns the beginning of the ID, for logs. The whole ID is a secret: a process that has it
// may renew in the holder's place.
func (h HolderID) Short() HolderID { return h[:min(len(h), 8)] }

// Fingerprint is a fingerprint of one handle; its holder and its owner compute the same one. [Fingerprint.With]
// combines several in any order.
type Fingerprint [16]byte

// FingerprintOf returns the fingerprint of a handle: its life, and its attachment with the start of the newest
// grant, or a zero Attachment while it is Detached. Two handles, or one before and after a gap in
// its grant, have different fingerprints.
func FingerprintOf(life Life, a Attachment) (p Fingerprint) {
	text := slices.Concat(life[:], a.ID[:])
	text = binary.BigEndian.AppendUint16(text, uint16(a.Node))
	text = binary.BigEndian.AppendUint64(text, uint64(a.Grant.From))
	sum := sha256.Sum256(text)
	copy(p[:], sum[:])
	return p
}

// With adds a fingerprint to the combination, or removes it if it is included already.
func (p Fingerprint) With(q Fingerprint) Fingerprint {
	for i := range p {
		p[i] ^= q[i]
	}
	return p
}
