package sequencer

import (
	"reflect"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// Scan reads the ID from a database: an integer of any size from 0 to 9223372036854775807, from
// signed and unsigned columns, or text or bytes that [Parse] reads. It implements
// [database/sql.Scanner]. NULL is an error: scan into a sql.Null[ID] where an ID may be missing. An
// error leaves id unchanged.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		return id.set(ID(v), ID(v).check())
	case uint64:
		return id.set(unsigned(v))
	case string:
		return id.set(Parse(v))
	case []byte:
		return id.set(Parse(string(v)))
	case nil:
		return failure.Errorf(ErrInvalidID,
			"sequencer: NULL is not an ID: scan into a sql.Null[sequencer.ID] where an ID may be missing")
	}
	v := reflect.ValueOf(src)
	if v.Kind() == reflect.Pointer { // ent scans the *ID that it has stored
		v = v.Elem()
	}
	switch { // int32, sql.RawBytes, json.Number and the like
	case v.CanInt():
		return id.set(ID(v.Int()), ID(v.Int()).check())
	case v.CanUint():
		return id.set(unsigned(v.Uint()))
	case v.Kind() == reflect.String:
		return id.set(Parse(v.String()))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return id.set(Parse(string(v.Bytes())))
	}
	return failure.Errorf(ErrInvalidID,
		"sequencer: cannot scan a %T as an ID: use a column of integers or of decimal text", src)
}

// unsigned converts an unsigned number to an ID. The error matches [strconv.ErrRange] if it is too
// large.
func unsigned(v uint64) (ID, error) {
	if v > uint64(maxID) {
		return 0, parseError(strconv.FormatUint(v, 10), strconv.ErrRange)
	}
	return ID(v), nil
}

// GormDataType returns the column type of an ID for gorm. Without it, gorm would let the database
// number integer primary keys, and an ID that the program failed to set would then be one that a
// sequencer issues, too.
func (ID) GormDataType() string { return "bigint" }
