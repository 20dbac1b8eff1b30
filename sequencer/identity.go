package sequencer

import (
	"encoding/hex"
	"fmt"
)

// AttachmentID names an attachment: one holder's tenure of one logical node.
// It is random, made by the holder, and never used twice, so a late request of
// an earlier tenure cannot be taken for one of the present. The zero value
// stands for no attachment.
type AttachmentID [16]byte

// String returns 32 lowercase hexadecimal digits.
func (a AttachmentID) String() string { return hex.EncodeToString(a[:]) }

// IsZero tells whether a names no attachment.
func (a AttachmentID) IsZero() bool { return a == AttachmentID{} }

// MarshalText returns the text of [AttachmentID.String]. The error is nil.
func (a AttachmentID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, a[:]), nil }

// UnmarshalText reads what MarshalText wrote: exactly 32 lowercase hexadecimal
// digits. After an error a is as before.
func (a *AttachmentID) UnmarshalText(text []byte) error {
	return decodeIdentity((*[16]byte)(a), text, "attachment ID")
}

// Life names one life of a sequencer, from its creation to its destruction. It
// is random, so a sequencer that was destroyed and created again under the same
// name is told apart from the earlier one. The zero value stands for no life.
type Life [16]byte

// String returns 32 lowercase hexadecimal digits.
func (l Life) String() string { return hex.EncodeToString(l[:]) }

// IsZero tells whether l names no life.
func (l Life) IsZero() bool { return l == Life{} }

// MarshalText returns the text of [Life.String]. The error is nil.
func (l Life) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, l[:]), nil }

// UnmarshalText reads what MarshalText wrote: exactly 32 lowercase hexadecimal
// digits. After an error l is as before.
func (l *Life) UnmarshalText(text []byte) error {
	return decodeIdentity((*[16]byte)(l), text, "life")
}

// decodeIdentity decodes text into dst, or leaves dst alone and returns an
// error that calls the value what. Capitals are refused, so that an identity
// has one text only and texts can be compared.
func decodeIdentity(dst *[16]byte, text []byte, what string) error {
	if len(text) != 2*len(dst) {
		return identityError(text, what)
	}
	for _, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return identityError(text, what)
		}
	}
	if _, err := hex.Decode(dst[:], text); err != nil {
		panic("sequencer: hexadecimal digits do not decode: " + err.Error())
	}
	return nil
}

func identityError(text []byte, what string) error {
	return fmt.Errorf("sequencer: %s is not the text of a %s: give exactly 32 lowercase hexadecimal digits",
		excerpt(text), what)
}
