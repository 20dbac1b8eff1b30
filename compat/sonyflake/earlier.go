package sonyflake

import (
	"cmp"
	"math/bits"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// sonyflake's defaults and limits.
const (
	defaultBitsSequence = 8
	defaultBitsMachine  = 16
	defaultTimeUnit     = 10 * time.Millisecond
	maxBits             = 30 // for a sequence number, and for a machine number
	minBitsTime         = 32
	idBits              = 63
)

// earlier divides the bits in sonyflake's IDs.
//
//	 62                                                      0
//	+---------------------------+--------------+--------------+
//	| time units since start    | bitsSequence | bitsMachine  |
//	+---------------------------+--------------+--------------+
type earlier struct {
	bitsSequence int
	bitsMachine  int
	unit         int64 // nanoseconds
	start        int64 // time units since 1970
}

// newEarlier returns the division that st describes.
func newEarlier(st Settings, now time.Time) (earlier, error) {
	e := earlier{
		bitsSequence: cmp.Or(st.BitsSequence, defaultBitsSequence),
		bitsMachine:  cmp.Or(st.BitsMachineID, defaultBitsMachine),
		unit:         int64(cmp.Or(st.TimeUnit, defaultTimeUnit)),
	}
	bitsTime := idBits - e.bitsSequence - e.bitsMachine
	switch {
	case e.bitsSequence < 0 || e.bitsSequence > maxBits:
		return earlier{}, failure.Errorf(ErrInvalidBitsSequence,
			"sonyflake: new: Settings.BitsSequence: %d is outside the limits; give 1 to %d, or 0 for %d", e.bitsSequence,
			maxBits, defaultBitsSequence)
	case e.bitsMachine < 0 || e.bitsMachine > maxBits:
		return earlier{}, failure.Errorf(ErrInvalidBitsMachineID,
			"sonyflake: new: Settings.BitsMachineID: %d is outside the limits; give 1 to %d, or 0 for %d", e.bitsMachine,
			maxBits, defaultBitsMachine)
	case e.unit < int64(time.Millisecond):
		return earlier{}, failure.Errorf(ErrInvalidTimeUnit,
			"sonyflake: new: Settings.TimeUnit: %v is too short; give 1ms or more, or 0 for %v", st.TimeUnit, defaultTimeUnit)
	case st.StartTime.After(now):
		return earlier{}, failure.Errorf(ErrStartTimeAhead,
			"sonyflake: new: Settings.StartTime: %s is in the future; give a time up to %s", text(st.StartTime), text(now))
	case bitsTime < minBitsTime:
		return earlier{}, failure.Errorf(ErrInvalidBitsTime,
			"sonyflake: new: Settings: BitsSequence %d and BitsMachineID %d leave %d bits for the time; leave %d or more",
			e.bitsSequence, e.bitsMachine, bitsTime, minBitsTime)
	}
	start := st.StartTime
	if start.IsZero() {
		start = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	e.start = e.units(start)
	return e, nil
}

// units returns the whole time units from 1970 to t. Its product has 128 bits, since an int64 ends in 2262 as
// nanoseconds.
func (e earlier) units(t time.Time) int64 {
	seconds := t.Unix()
	if seconds < 0 {
		return t.UnixNano() / e.unit
	}
	high, low := bits.Mul64(uint64(seconds), uint64(time.Second))
	low, carry := bits.Add64(low, uint64(t.Nanosecond()), 0)
	quotient, _ := bits.Div64(high+carry, low, uint64(e.unit))
	return int64(quotient)
}

// at returns the time at a time part.
func (e earlier) at(part int64) time.Time { return time.Unix(0, (e.start+part)*e.unit) }

func (e earlier) timePart(id int64) int64 { return id >> (e.bitsSequence + e.bitsMachine) }
