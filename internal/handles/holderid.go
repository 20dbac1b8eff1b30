package handles

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// NewHolder returns a random holder ID.
func NewHolder() attachment.HolderID {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return attachment.HolderID(hex.EncodeToString(b[:]))
}
