package bridge_test

import (
	"encoding"
	"fmt"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
)

// identity is the common interface of ID and Life.
type identity interface {
	fmt.Stringer
	encoding.TextMarshaler
	encoding.TextUnmarshaler
	IsZero() bool
}

var identities = map[string]func() identity{
	"attachment ID": func() identity { return new(bridge.ID) },
	"life":          func() identity { return new(bridge.Life) },
}

func TestIdentityText(t *testing.T) {
	const text = "00112233445566778899aabbccddeeff"
	for name, create := range identities {
		t.Run(name, func(t *testing.T) {
			v := create()
			if !v.IsZero() || v.String() != strings.Repeat("0", 32) {
				t.Errorf("the zero value is %v, IsZero() = %v", v, v.IsZero())
			}
			if err := v.UnmarshalText([]byte(text)); err != nil {
				t.Fatalf("UnmarshalText: %v", err)
			}
			if v.IsZero() || v.String() != text {
				t.Errorf("String() = %q, IsZero() = %v; want %q", v, v.IsZero(), text)
			}
			if got, err := v.MarshalText(); err != nil || string(got) != text {
				t.Errorf("MarshalText() = %q, %v; want %q", got, err, text)
			}
		})
	}
}

func TestIdentityRefusesOtherText(t *testing.T) {
	const before = "000000000000000000000000000000ff"
	for name, create := range identities {
		for _, text := range []string{
			"",
			"ff",
			strings.Repeat("0", 31),
			strings.Repeat("0", 33),
			strings.Repeat("0", 1000),
			strings.Repeat("0", 31) + "g",
			strings.Repeat("0", 31) + "A",
			"0x" + strings.Repeat("0", 30),
			"00000000-0000-0000-0000-00000000",
		} {
			v := create()
			if err := v.UnmarshalText([]byte(before)); err != nil {
				t.Fatal(err)
			}
			err := v.UnmarshalText([]byte(text))
			if err == nil {
				t.Errorf("%s: UnmarshalText(%q) succeeded", name, text)
				continue
			}
			for _, part := range []string{name, "32 lowercase hexadecimal digits"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("UnmarshalText(%q): %q does not say %q", text, err, part)
				}
			}
			if v.String() != before {
				t.Errorf("%s: UnmarshalText(%q) failed and changed the value to %v", name, text, v)
			}
		}
	}
}
