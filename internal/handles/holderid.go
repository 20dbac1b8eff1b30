package handles

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// NewAttachment returns a random attachment ID.
func NewAttachment() (id attachment.ID) {
	_, _ = rand.Read(id[:])
	return id
}

// NewHolder returns a random holder ID.
func NewHolder() attachment.HolderID { return attachment.HolderID(RandomHex()) }

// RandomHex returns 16 random bytes as hexadecimal digits.
func RandomHex() string {
	id := NewAttachment()
	return hex.EncodeToString(id[:])
}
