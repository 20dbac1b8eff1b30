package handles

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/snowgrid/snowgrid/sequencer"
)

// NewHolder returns a random holder ID.
func NewHolder() sequencer.HolderID {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return sequencer.HolderID(hex.EncodeToString(b[:]))
}
