package idtext

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Prefix gives a kind of IDs its prefix. The prefix follows the rules of TypeID
// (https://github.com/jetify-com/typeid/tree/main/spec): at most 63 of a to z and underscores, with a letter at
// both ends; "" for texts without a prefix. It is the same for all values of the type.
type Prefix interface{ Prefix() string }

// Typed is an ID of one kind. A function for orders does not compile with the ID of a user, and a text with
// another prefix is refused.
//
//	type order struct{}
//
//	func (order) Prefix() string { return "order" }
//
//	type OrderID = idtext.Typed[order]
//
//	id := OrderID(next) // next is a sequencer.ID
//	fmt.Println(id)     // order_0yzwd6kg80000
//
// Its text and its JSON are the prefix, an underscore and [Base32]. Databases store it as a 64-bit
// integer, like the ID. Comparisons compare the IDs.
type Typed[P Prefix] sequencer.ID

// ParseTyped reads the text of an ID of one kind. The error matches [sequencer.ErrInvalidID], and
// [sequencer.ErrInvalidConfig] if the kind has an impossible prefix.
func ParseTyped[P Prefix](s string) (Typed[P], error) {
	prefix, err := prefixOf[P]()
	if err != nil {
		return 0, err
	}
	text, found := strings.CutPrefix(s, prefix)
	id, err := ParseBase32(text)
	if !found || err != nil {
		return 0, failure.Errorf(sequencer.ErrInvalidID, "idtext: %s is not an ID with the prefix %q; give a text such as %s",
			excerpt(s), strings.TrimSuffix(prefix, "_"), prefix+Base32(0))
	}
	return Typed[P](id), nil
}

// prefixOf returns what texts of a kind begin with.
func prefixOf[P Prefix]() (string, error) {
	const limit = 63
	var kind P
	prefix := kind.Prefix()
	if prefix == "" {
		return "", nil
	}
	ends := strings.HasPrefix(prefix, "_") || strings.HasSuffix(prefix, "_")
	other := strings.ContainsFunc(prefix, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	if ends || other || len(prefix) > limit {
		return "", failure.Errorf(sequencer.ErrInvalidConfig,
			"idtext: the prefix %s of %T is impossible; give at most %d of a to z and underscores, with a letter at both ends",
			excerpt(prefix), kind, limit)
	}
	return prefix + "_", nil
}

// ID returns the ID without its kind.
func (id Typed[P]) ID() sequencer.ID { return sequencer.ID(id) }

// String returns the text, and for an impossible prefix or a negative ID a note about that.
func (id Typed[P]) String() string {
	text, err := id.MarshalText()
	if err != nil {
		return fmt.Sprintf("%%!(%v)", err)
	}
	return string(text)
}

// MarshalText returns the text. A negative ID is an error, and an impossible prefix.
func (id Typed[P]) MarshalText() ([]byte, error) {
	prefix, err := prefixOf[P]()
	if err != nil {
		return nil, err
	}
	if _, err := id.ID().Value(); err != nil { // it is negative
		return nil, err
	}
	return append([]byte(prefix), Base32(id.ID())...), nil
}

// UnmarshalText reads the text as [ParseTyped] does. An error leaves id unchanged.
func (id *Typed[P]) UnmarshalText(text []byte) error {
	v, err := ParseTyped[P](string(text))
	if err == nil {
		*id = v
	}
	return err
}

// UnmarshalJSON reads the text in quotes. Null and numbers are errors: decode into a pointer where an ID may be
// missing. An error leaves id unchanged.
func (id *Typed[P]) UnmarshalJSON(data []byte) error {
	var text string
	if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &text) != nil {
		return failure.Errorf(sequencer.ErrInvalidID, "idtext: JSON %s is not an ID with a prefix; give its text in quotes",
			excerpt(string(data)))
	}
	return id.UnmarshalText([]byte(text))
}

// Value gives the ID to a database as an int64. It implements [database/sql/driver.Valuer].
func (id Typed[P]) Value() (driver.Value, error) { return id.ID().Value() }

// Scan reads the ID from a database as [sequencer.ID.Scan] does: an integer, without the prefix.
func (id *Typed[P]) Scan(src any) error {
	var v sequencer.ID
	err := v.Scan(src)
	if err == nil {
		*id = Typed[P](v)
	}
	return err
}

// GormDataType has gorm create a column for 64-bit integers.
func (id Typed[P]) GormDataType() string { return id.ID().GormDataType() }
