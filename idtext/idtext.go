// Package idtext writes and reads short texts of IDs, and has IDs with a prefix.
//
//	text       example               written by                  read by
//	decimal    1116766490855473152   [sequencer.ID.String]       [sequencer.Parse]
//	Base32     0yzwd6kg80000         [Base32]                    [ParseBase32], [ParseBase32Lenient]
//	Base62     1KUnkKheqTw           [Base62]                    [ParseBase62]
//	typed      order_0yzwd6kg80000   [Typed]                     [ParseTyped]
//
// Base32 and Base62 have a fixed width and sort like the IDs. The text and the JSON of a [sequencer.ID] are its
// decimal digits whatever a program uses elsewhere.
package idtext

import (
	"fmt"
	"math"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The digits and widths of the texts. The digits sort by their bytes. Base32 has Crockford's.
const (
	base32Digits = "0123456789abcdefghjkmnpqrstvwxyz"
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base32Width  = 13
	base62Width  = 11
)

// Base32 returns 13 digits in Crockford's Base32 (https://www.crockford.com/base32.html), in lower case. Such
// texts sort like their IDs, also as bytes.
func Base32(id sequencer.ID) string {
	var text [base32Width]byte
	for i, rest := len(text)-1, uint64(id); i >= 0; i, rest = i-1, rest>>5 {
		text[i] = base32Digits[rest&31]
	}
	return string(text[:])
}

// Base62 returns 11 digits and letters, upper and lower case. Such texts sort like their IDs where bytes are
// compared: a collation that ignores case mixes them up.
func Base62(id sequencer.ID) string {
	var text [base62Width]byte
	for i, rest := len(text)-1, uint64(id); i >= 0; i, rest = i-1, rest/62 {
		text[i] = base62Digits[rest%62]
	}
	return string(text[:])
}

// ParseBase32 reads the 13 digits of [Base32] as they were written, in lower case. The error matches
// [sequencer.ErrInvalidID].
func ParseBase32(s string) (sequencer.ID, error) {
	if len(s) != base32Width {
		return 0, base32Error(s)
	}
	var v uint64
	for i := range len(s) {
		digit := strings.IndexByte(base32Digits, s[i])
		if digit < 0 || i == 0 && digit > 7 { // 60 bits follow
			return 0, base32Error(s)
		}
		v = v<<5 | uint64(digit)
	}
	return sequencer.ID(v), nil
}

// ParseBase32Lenient reads what people type in place of [Base32]: letters of both cases, I and L for
// 1, O for 0, hyphens between the digits, and spaces around them. Two texts can then be of one ID: compare and
// store the ID, not the text. The error matches [sequencer.ErrInvalidID].
func ParseBase32Lenient(s string) (sequencer.ID, error) {
	const limit = 64 // bytes
	if len(s) > limit {
		return 0, base32Error(s)
	}
	text := strings.Map(func(r rune) rune {
		switch r {
		case '-':
			return -1
		case 'i', 'I', 'l', 'L':
			return '1'
		case 'o', 'O':
			return '0'
		}
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, strings.TrimSpace(s))
	id, err := ParseBase32(text)
	if err != nil {
		return 0, base32Error(s)
	}
	return id, nil
}

func base32Error(s string) error {
	return failure.Errorf(sequencer.ErrInvalidID,
		"idtext: %s is not an ID in Base32; give 13 of 0123456789abcdefghjkmnpqrstvwxyz, at most 7zzzzzzzzzzzz", excerpt(s))
}

// ParseBase62 reads the 11 digits of [Base62]. The error matches [sequencer.ErrInvalidID].
func ParseBase62(s string) (sequencer.ID, error) {
	if len(s) != base62Width {
		return 0, base62Error(s)
	}
	var v uint64
	for i := range len(s) {
		digit := strings.IndexByte(base62Digits, s[i])
		if digit < 0 || v > (math.MaxInt64-uint64(digit))/62 {
			return 0, base62Error(s)
		}
		v = v*62 + uint64(digit)
	}
	return sequencer.ID(v), nil
}

func base62Error(s string) error {
	return failure.Errorf(sequencer.ErrInvalidID,
		"idtext: %s is not an ID in Base62; give 11 digits and letters, at most AzL8n0Y58m7", excerpt(s))
}

// excerpt quotes a text for an error, and truncates a long one.
func excerpt(s string) string {
	const limit = 80
	if len(s) <= limit {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q... (%d bytes)", s[:limit], len(s))
}
