package store

import "testing"

// TestZeroMemoryIsAStore: the zero value of Memory is an empty store.
func TestZeroMemoryIsAStore(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.store = &Memory{}
		b.next(b.create(b.client()))
	})
}
