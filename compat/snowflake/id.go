package snowflake

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ID is an ID with bwmarrin/snowflake's methods. It converts to and from a [sequencer.ID]:
//
//	sequencer.ID(id)
//	snowflake.ID(next)
type ID int64

// The digits for ID.Base32 and ID.Base58, by value.
const (
	base32Digits = "ybndrfg8ejkmcpqxot1uwisza345h769"
	base58Digits = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
)

// Errors from ParseBase32 and ParseBase58. Both match [sequencer.ErrInvalidID].
var (
	// ErrInvalidBase32 means that bytes are no number in z-base-32.
	ErrInvalidBase32 = failure.Errorf(sequencer.ErrInvalidID,
		"snowflake: parse Base32: not an ID; give digits of %s, at most 8999999999999", base32Digits)
	// ErrInvalidBase58 means that bytes are no number in Base58.
	ErrInvalidBase58 = failure.Errorf(sequencer.ErrInvalidID,
		"snowflake: parse Base58: not an ID; give digits of %s, at most npL6MjP8Qfc", base58Digits)
)

// JSONSyntaxError is the error from [ID.UnmarshalJSON] for JSON that is not a text in quotes.
type JSONSyntaxError struct{ original []byte }

// Error returns the message, with an excerpt of the JSON.
func (e JSONSyntaxError) Error() string {
	return fmt.Sprintf("snowflake: read JSON: %s is not an ID; give decimal digits in quotes", excerpt(e.original))
}

// Unwrap returns [sequencer.ErrInvalidID].
func (e JSONSyntaxError) Unwrap() error { return sequencer.ErrInvalidID }

// ParseInt64 returns id as an ID.
func ParseInt64(id int64) ID { return ID(id) }

// Int64 returns the ID as an int64.
func (f ID) Int64() int64 { return int64(f) }

// String returns the ID's decimal digits.
func (f ID) String() string { return strconv.FormatInt(int64(f), 10) }

// ParseString reads decimal digits.
func ParseString(id string) (ID, error) { return parse(id, 10) }

// Base2 returns the ID's binary digits.
func (f ID) Base2() string { return strconv.FormatInt(int64(f), 2) }

// ParseBase2 reads binary digits.
func ParseBase2(id string) (ID, error) { return parse(id, 2) }

// Base32 returns the ID in z-base-32, 1 to 13 digits.
func (f ID) Base32() string { return f.text(base32Digits) }

// ParseBase32 reads digits as from [ID.Base32]. It returns -1 and [ErrInvalidBase32] for anything else.
func ParseBase32(b []byte) (ID, error) {
	id, ok := parseDigits(b, base32Digits)
	if !ok {
		return -1, ErrInvalidBase32
	}
	return id, nil
}

// Base36 returns the ID's digits in base 36, in lower case.
func (f ID) Base36() string { return strconv.FormatInt(int64(f), 36) }

// ParseBase36 reads digits in base 36, in both cases.
func ParseBase36(id string) (ID, error) { return parse(id, 36) }

// Base58 returns the ID in base 58, 1 to 11 digits.
func (f ID) Base58() string { return f.text(base58Digits) }

// ParseBase58 reads digits as from [ID.Base58]. It returns -1 and [ErrInvalidBase58] for anything else.
func ParseBase58(b []byte) (ID, error) {
	id, ok := parseDigits(b, base58Digits)
	if !ok {
		return -1, ErrInvalidBase58
	}
	return id, nil
}

// Base64 returns the ID's decimal digits in standard Base64, with padding.
func (f ID) Base64() string { return base64.StdEncoding.EncodeToString(f.Bytes()) }

// ParseBase64 reads a text as from [ID.Base64]. It returns -1 with an error.
func ParseBase64(id string) (ID, error) {
	digits, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return -1, failure.Errorf(sequencer.ErrInvalidID,
			"snowflake: parse Base64: %s: %w; give the Base64 of decimal digits", excerpt(id), err)
	}
	v, err := ParseBytes(digits)
	if err != nil {
		return -1, err
	}
	return v, nil
}

// Bytes returns the ID's decimal digits.
func (f ID) Bytes() []byte { return strconv.AppendInt(nil, int64(f), 10) }

// ParseBytes reads decimal digits.
func ParseBytes(id []byte) (ID, error) { return parse(string(id), 10) }

// IntBytes returns the ID as 8 bytes, the most significant first.
func (f ID) IntBytes() (b [8]byte) {
	binary.BigEndian.PutUint64(b[:], uint64(f))
	return b
}

// ParseIntBytes reads bytes as from [ID.IntBytes].
func ParseIntBytes(id [8]byte) ID { return ID(binary.BigEndian.Uint64(id[:])) }

// Time returns the ID's time in Unix milliseconds, for IDs with [Epoch] and the default bits.
func (f ID) Time() int64 { return int64(f)>>(NodeBits+StepBits) + Epoch }

// Node returns the ID's node, for IDs with the default bits.
func (f ID) Node() int64 { return int64(f) >> StepBits & (1<<NodeBits - 1) }

// Step returns the ID's step, which counts a node's IDs in one millisecond, for IDs with the default bits.
func (f ID) Step() int64 { return int64(f) & (1<<StepBits - 1) }

// MarshalJSON returns the ID's decimal digits in quotes.
func (f ID) MarshalJSON() ([]byte, error) {
	return append(strconv.AppendInt([]byte{'"'}, int64(f), 10), '"'), nil
}

// UnmarshalJSON reads decimal digits in quotes. It returns a [JSONSyntaxError] for JSON without quotes, null too, and
// the error from [ParseString] for other texts. An error leaves f unchanged.
func (f *ID) UnmarshalJSON(b []byte) error {
	if len(b) < 3 || b[0] != '"' || b[len(b)-1] != '"' {
		return JSONSyntaxError{bytes.Clone(b)}
	}
	id, err := parse(string(b[1:len(b)-1]), 10)
	if err == nil {
		*f = id
	}
	return err
}

// parse reads digits, and a sign before them, as strconv does.
func parse(text string, base int) (ID, error) {
	v, err := strconv.ParseInt(text, base, 64)
	if err == nil {
		return ID(v), nil
	}
	cause := err
	if n, ok := errors.AsType[*strconv.NumError](err); ok {
		n.Num, cause = excerpt(text), n.Err // a text of any length is not kept
	}
	return 0, failure.Errorf(errors.Join(sequencer.ErrInvalidID, err),
		"snowflake: parse: %s in base %d: %w; give digits of a number up to %d", excerpt(text), base, cause,
		int64(math.MaxInt64))
}

// text returns the ID's digits without leading zeros. A negative number has a minus sign.
func (f ID) text(digits string) string {
	base, v := uint64(len(digits)), uint64(f)
	if f < 0 {
		v = -v
	}
	var text [14]byte // a sign, and 64 bits in base 32
	i := len(text)
	for ok := true; ok; ok = v > 0 {
		i--
		text[i] = digits[v%base]
		v /= base
	}
	if f < 0 {
		i--
		text[i] = '-'
	}
	return string(text[i:])
}

// parseDigits reads one or more digits, and reports whether they are a number up to the largest int64.
func parseDigits(text []byte, digits string) (ID, bool) {
	base, v := uint64(len(digits)), uint64(0)
	for _, c := range text {
		digit := strings.IndexByte(digits, c)
		if digit < 0 || v > (math.MaxInt64-uint64(digit))/base {
			return 0, false
		}
		v = v*base + uint64(digit)
	}
	return ID(v), len(text) > 0
}

// excerpt quotes a text for an error, and truncates a long one.
func excerpt[T ~string | ~[]byte](s T) string {
	const limit = 80
	if len(s) <= limit {
		return strconv.Quote(string(s))
	}
	return fmt.Sprintf("%q... (%d bytes)", string(s[:limit]), len(s))
}
