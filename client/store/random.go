package store

import (
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// newNonce returns a text that no other body has.
func newNonce() string { return rand.Text() }

func newAttachmentID() (id attachment.ID) {
	_, _ = rand.Read(id[:])
	return id
}

// randomBytes returns a life's random half.
func randomBytes() (b [8]byte) {
	_, _ = rand.Read(b[:])
	return b
}

// randomHex returns a task's name.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// jitter returns a random duration below d.
func jitter(d time.Duration) time.Duration { return mathrand.N(d) }
