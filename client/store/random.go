package store

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"
)

// newNonce returns a text that no other body has.
func newNonce() string { return rand.Text() }

// randomBytes returns a life's random half.
func randomBytes() (b [8]byte) {
	_, _ = rand.Read(b[:])
	return b
}

// jitter returns a random duration below d.
func jitter(d time.Duration) time.Duration { return mathrand.N(d) }
