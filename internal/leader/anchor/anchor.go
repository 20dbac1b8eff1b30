// Package anchor keeps the ceiling of a grid below a limit in a record of a store outside
// the grid. A leader that takes the record begins above everything that was granted below its
// limit, so two grids of one name, from copies of one another's data or from nothing, wait
// for each other instead of issuing equal IDs.
//
//	Machine    decides when the record is read, taken, extended and lowered, for a leader
//	Authority  the rules of one leader's rights under the record (A1 to A8)
//	Record     the record and its format
//
// The package is pure: time, random claims and nonces are arguments, and reads and swaps
// are results that a caller carries out. Package leader drives a [Machine], proof/explore
// every order of the steps of an [Authority].
package anchor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Record is the record of one grid name.
type Record struct {
	// Claim is drawn for each take. The grid whose roster has it may raise its ceiling
	// up to Ceiling.
	Claim   roster.Claim       `json:"claim"`
	Ceiling clustertime.Tick   `json:"ceiling_ms"`
	Grid    roster.GridID      `json:"grid"`   // for people
	Holder  roster.Incarnation `json:"holder"` // the leader that wrote it, for people
	Nonce   string             `json:"nonce"`  // new in each body, so that no two are equal
}

// format is the format of a record's body.
const format = 1

// body is a record as it is stored.
type body struct {
	Format int `json:"format"`
	Record
}

// BodyMax bounds the body of a record, in bytes.
const BodyMax = 4096

// ErrDamaged says that a body is not a record.
var ErrDamaged = errors.New("anchor: the record is damaged")

// Encode returns the body of a record.
func (r Record) Encode() ([]byte, error) { return json.Marshal(body{format, r}) }

// Decode reads a body. Errors: ErrDamaged for anything that [Record.Encode] does not write.
func Decode(data []byte) (Record, error) {
	if len(data) > BodyMax {
		return Record{}, fmt.Errorf("%w: it has %d bytes, at most %d are expected", ErrDamaged, len(data), BodyMax)
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	var b body
	if err := in.Decode(&b); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return Record{}, fmt.Errorf("%w: there is more in it than a record", ErrDamaged)
	}
	if b.Format != format {
		return Record{}, fmt.Errorf("%w: it has format %d, and this version of snowgrid reads format %d", ErrDamaged, b.Format, format)
	}
	return b.Record, b.check()
}

func (r Record) check() error {
	switch err := r.Claim.Check(); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case r.Ceiling < 0 || r.Ceiling > clustertime.Latest:
		return fmt.Errorf("%w: its ceiling is %d ms, which is not a time from 1970 to 9999", ErrDamaged, r.Ceiling)
	case r.Holder.Check() != nil:
		return fmt.Errorf("%w: %w", ErrDamaged, r.Holder.Check())
	case r.Nonce == "" || len(r.Nonce) > 64:
		return fmt.Errorf("%w: its nonce %.80q is not 1 to 64 bytes", ErrDamaged, r.Nonce)
	}
	return nil
}

// Seen is the result of a read: a record with its revision, or that there is none.
type Seen struct {
	Record   Record
	Revision string // "" without a record
}

// Absent reports whether there was no record.
func (s Seen) Absent() bool { return s.Revision == "" }

// Draw has fresh random values for one swap. A claim is never drawn twice.
type Draw struct {
	Claim roster.Claim
	Nonce string
}

// Kind is the purpose of a swap.
type Kind int

// The purposes.
const (
	Take   Kind = iota + 1 // a new claim (A4)
	Extend                 // a higher ceiling under the same claim (A6)
	Lower                  // the end of the grants after an orderly stop (A8)
)

// Swap writes a record in place of exactly one revision.
type Swap struct {
	Kind     Kind
	Record   Record
	Revision string // that is replaced; "" if there must be no record
}
