package bridge

import (
	"encoding/hex"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// ID names an attachment: one holder's tenure of one logical node. The holder draws it at
// random and never reuses it, so a late request from an earlier tenure cannot be mistaken for a
// present one. The zero value stands for no attachment.
type ID [16]byte

// String returns 32 lowercase hexadecimal digits.
func (a ID) String() string { return hex.EncodeToString(a[:]) }

// IsZero reports whether a is zero, which names no attachment.
func (a ID) IsZero() bool { return a == ID{} }

// MarshalText returns [ID.String]. The error is nil.
func (a ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, a[:]), nil }

// UnmarshalText reads the result of MarshalText: exactly 32 lowercase hexadecimal digits. An error
// leaves a unchanged.
func (a *ID) UnmarshalText(text []byte) error {
	return decodeIdentity((*[16]byte)(a), text, "attachment ID")
}

// Life names one life of a sequencer, from its creation to its destruction. It is random, so a
// sequencer that is destroyed and created again under the same name differs from the earlier one.
// The zero value stands for no life.
type Life [16]byte

// String returns 32 lowercase hexadecimal digits.
func (l Life) String() string { return hex.EncodeToString(l[:]) }

// IsZero reports whether l is zero, which names no life.
func (l Life) IsZero() bool { return l == Life{} }

// MarshalText returns [Life.String]. The error is nil.
func (l Life) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, l[:]), nil }

// UnmarshalText reads the result of MarshalText: exactly 32 lowercase hexadecimal digits. An error
// leaves l unchanged.
func (l *Life) UnmarshalText(text []byte) error {
	return decodeIdentity((*[16]byte)(l), text, "life")
}

// decodeIdentity decodes text into dst, or leaves dst unchanged and returns an error that names the
// value by the noun what. It rejects capitals: an identity has only one text, so texts can be
// compared.
func decodeIdentity(dst *[16]byte, text []byte, what string) error {
	if !spelling.DecodeHex(dst[:], text) {
		return fmt.Errorf("attachment: %.40q is not the text of a %s: give exactly 32 lowercase hexadecimal digits", text,
			what)
	}
	return nil
}
