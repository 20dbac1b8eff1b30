package spelling_test

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

func TestDecodeHex(t *testing.T) {
	for text, want := range map[string]bool{"00ff": true, "00fF": false, "00f": false, "00ff0": false, "00fg": false,
		"": false, "0x0f": false} {
		dst := [2]byte{1, 2}
		if got := spelling.DecodeHex(dst[:], []byte(text)); got != want {
			t.Errorf("DecodeHex(%q) = %v", text, got)
		}
		if after := [2]byte{0, 255}; want && dst != after || !want && dst != [2]byte{1, 2} {
			t.Errorf("DecodeHex(%q) gives %v", text, dst)
		}
	}
}
