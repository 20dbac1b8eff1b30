package numbers

import (
	"encoding/hex"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Code is 128 random bits; its text is 32 lower-case hex digits.
type Code [16]byte

// IsZero reports whether c is unset.
func (c Code) IsZero() bool { return c == Code{} }

// String returns 32 lower-case hex digits.
func (c Code) String() string { return hex.EncodeToString(c[:]) }

// MarshalText returns the output of [Code.String]. It never fails.
func (c Code) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, c[:]), nil }

// UnmarshalText accepts exactly the output of [Code.MarshalText]. Anything else is an [ErrInvalid]
// and leaves the code unchanged.
func (c *Code) UnmarshalText(text []byte) error {
	if !spelling.DecodeHex(c[:], text) {
		return invalidf("code %.40q is not 32 lower-case hex digits", text)
	}
	return nil
}
