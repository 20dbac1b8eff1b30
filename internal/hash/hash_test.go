package hash

import (
	"testing"
)

// TestSum64Golden pins values: another answer would move every name to another partition.
func TestSum64Golden(t *testing.T) {
	for key, want := range map[string]uint64{"": 0xefd01f60ba992926, "orders": 0x32520fbdb4dad5b9} {
		if got := Sum64(key); got != want || Sum64([]byte(key)) != want {
			t.Errorf("%q: %#x, want %#x", key, got, want)
		}
	}
}
