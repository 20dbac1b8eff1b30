// Package anchor keeps a grid's ceiling below a limit that is stored in a record outside the grid.
// A leader that takes the record starts above everything granted below the previous limit. Two
// grids with one name, whether from copies of the same data or from nothing, therefore wait for
// each other instead of issuing equal IDs.
//
//	Machine    decides for a leader when to read, take, extend and lower the record
//	Authority  the rules for one leader's rights under the record (A1 to A8)
//	Record     the record and its format
//
// The package is pure: time, random claims and nonces are arguments, and reads and swaps are
// results that the caller executes. Package leader drives a [Machine]; proof/explore runs an
// [Authority] through every order of steps.
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

// Record is the anchor record for one grid name.
type Record struct {
	// Claim is drawn for each take. The grid with this claim in its roster may raise its ceiling up
	// to Ceiling.
	Claim   roster.Claim       `json:"claim"`
	Ceiling clustertime.Tick   `json:"ceiling_ms"`
	Grid    roster.GridID      `json:"grid"`   // for display
	Holder  roster.Incarnation `json:"holder"` // the leader that wrote it, for display
	Nonce   string             `json:"nonce"`  // new in each body, so that all bodies differ
	// Ahead is the holder's distance from cluster time to the limit: it extends the record when half of
	// that is left. 0 = unknown.
	Ahead clustertime.Span `json:"ahead_ms"`
}

// AheadMax is the largest Ahead: a larger one would keep another grid waiting for a holder that is gone.
const AheadMax = 2 * roster.MaxWindow

// format is the version of the record's encoding.
const format = 1

// body is the stored form of a record.
type body struct {
	Format int `json:"format"`
	Record
}

// bodyMax is the maximum size of a record's body in bytes.
const bodyMax = 4096

// ErrDamaged means that a body is not a record.
var ErrDamaged = errors.New("anchor: the record is damaged")

// Encode returns the record's body.
func (r Record) Encode() ([]byte, error) { return json.Marshal(body{format, r}) }

// Decode reads a body. It returns ErrDamaged for anything that [Record.Encode] does not write.
func Decode(data []byte) (Record, error) {
	if len(data) > bodyMax {
		return Record{}, fmt.Errorf("%w: it has %d bytes, at most %d are expected", ErrDamaged, len(data), bodyMax)
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
		return Record{}, fmt.Errorf("%w: it has format %d, and this version of snowgrid reads format %d", ErrDamaged,
			b.Format, format)
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
	case r.Ahead < 0 || r.Ahead > AheadMax:
		return fmt.Errorf("%w: it is extended to %d ms ahead, which is not 0 to %d", ErrDamaged, r.Ahead, AheadMax)
	case r.Nonce == "" || len(r.Nonce) > 64:
		return fmt.Errorf("%w: its nonce %.80q is not 1 to 64 bytes", ErrDamaged, r.Nonce)
	}
	return nil
}

// Seen is the result of a read: a record and its revision, or no record.
type Seen struct {
	Record   Record
	Revision string // "" without a record
}

// Absent reports whether the record does not exist.
func (s Seen) Absent() bool { return s.Revision == "" }

// Draw contains fresh random values for one swap. A claim is never drawn twice.
type Draw struct {
	Claim roster.Claim
	Nonce string
}

// Kind is the purpose of a swap.
type Kind int

// The kinds.
const (
	Take   Kind = iota + 1 // writes a new claim (A4)
	Extend                 // raises the ceiling under the same claim (A6)
	Lower                  // records the end of grants after an orderly stop (A8)
)

// Swap replaces exactly one revision with a record.
type Swap struct {
	Kind     Kind
	Record   Record
	Revision string // the revision to replace; "" to require that there is no record
}
