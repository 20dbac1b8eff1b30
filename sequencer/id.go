package sequencer

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// ID is a unique, time-ordered number. Of two IDs of one sequencer, the ID with the later
// millisecond is larger; within a millisecond the logical node decides, then the counter. A
// [Definition] decomposes IDs.
//
// IDs are never negative. Each has one text: its decimal digits without sign or leading zero.
// Encoding and decoding both reject a negative ID, so each side can read everything that the other
// writes; the error matches ErrInvalidID. The zero value is a possible ID, the first of node 0; use
// *ID or [database/sql.Null] where an ID may be missing.
//
//	fmt, encoding/json, XML, YAML, flags   decimal digits; in JSON in quotes
//	database/sql, pgx, gorm, BSON          a 64-bit integer
//	CBOR, MessagePack                      an integer
//	Redis (go-redis), encoding/gob         decimal digits
//	keys of an ordered store               [ID.Bytes]: 8 bytes in the order of the IDs
//	texts that are sorted, and short ones  Base32 and Base62 of package idtext
//
// Texts do not sort like IDs: "9" is above "10". IDs of the default layout and epoch get their 19th
// digit on 2029-10-11, and keep it.
type ID int64

// maxID is the largest ID of the layouts with 63 bits: the last millisecond, node and
// counter.
const maxID ID = math.MaxInt64

// Parse reads an ID's text: the decimal digits of a number from 0 to 9223372036854775807, without
// sign, space or leading zero. The error matches ErrInvalidID, and [strconv.ErrRange] for a number
// that is too large, [strconv.ErrSyntax] for anything else.
func Parse(s string) (ID, error) {
	if !isCanonical(s) {
		return 0, parseError(s, strconv.ErrSyntax)
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, parseError(s, strconv.ErrRange)
	}
	return ID(v), nil
}

// isCanonical reports whether s is a whole number as strconv would write it, without a sign.
func isCanonical(s string) bool {
	if s == "" || (s[0] == '0' && len(s) > 1) {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func parseError(s string, cause error) error {
	return failure.Errorf(errors.Join(ErrInvalidID, cause),
		"sequencer: %s is not an ID; give a decimal number from 0 to %d without sign, space or leading zero",
		excerpt(s), maxID)
}

// excerpt quotes a value for an error message, and truncates a long one.
func excerpt[T ~string | ~[]byte](value T) string {
	const limit = 40
	if len(value) <= limit {
		return strconv.Quote(string(value))
	}
	return fmt.Sprintf("%q... (%d bytes)", string(value[:limit]), len(value))
}

// String returns the ID's decimal digits.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// check returns an error for an ID that no sequencer can have issued.
func (id ID) check() error {
	if id < 0 {
		return failure.Errorf(ErrInvalidID, "sequencer: %d is not an ID: IDs are not negative", int64(id))
	}
	return nil
}

// appendText appends the ID's decimal digits to dst.
func (id ID) appendText(dst []byte) ([]byte, error) {
	if err := id.check(); err != nil {
		return dst, err
	}
	return strconv.AppendInt(dst, int64(id), 10), nil
}

// MarshalText returns the ID's decimal digits. A negative ID is an error.
func (id ID) MarshalText() ([]byte, error) { return id.appendText(nil) }

// UnmarshalText reads the ID's text, with the rules and errors of [Parse]. An error leaves id
// unchanged.
func (id *ID) UnmarshalText(text []byte) error { return id.set(Parse(string(text))) }

// MarshalJSON returns the ID's decimal digits in quotes, because a JSON number beyond 2^53 loses
// digits in many languages. IDs of the layout [JSSafe] would not, but are quoted too, since an ID
// does not contain its layout: a program that needs numbers encodes int64(id). A negative ID is an
// error.
func (id ID) MarshalJSON() ([]byte, error) {
	dst, err := id.appendText([]byte{'"'})
	if err != nil {
		return nil, err
	}
	return append(dst, '"'), nil
}

// UnmarshalJSON reads an ID's text in quotes, or the same digits as a number. Fractions, exponents,
// signs and escapes are errors as in [Parse], and so is null: decode into a *ID where an ID may be
// missing. An error leaves id unchanged.
func (id *ID) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return failure.Errorf(ErrInvalidID, "sequencer: JSON null is not an ID: decode into a *ID where an ID may be missing")
	}
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
	}
	return id.set(Parse(text))
}

// Value gives the ID to a database as an int64. It implements
// [database/sql/driver.Valuer]. A negative ID is an error.
func (id ID) Value() (driver.Value, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	return int64(id), nil
}

// set stores v unless err is set, and returns err.
func (id *ID) set(v ID, err error) error {
	if err == nil {
		*id = v
	}
	return err
}
