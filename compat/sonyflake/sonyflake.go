// Package sonyflake replaces github.com/sony/sonyflake/v2: it has the same names, and a snowgrid sequencer generates
// the IDs. Moving is one import and one line, the Settings:
//
//	import "github.com/snowgrid/snowgrid/compat/sonyflake" // was: "github.com/sony/sonyflake/v2"
//
//	sf, err := sonyflake.New(sonyflake.Settings{Sequencer: orders, Last: last}) // was: Settings{MachineID: machine}
//	id, err := sf.NextID()
//
// The sequencer assigns machine numbers, so Settings has neither MachineID nor CheckMachineID, and ErrNoPrivateAddress
// does not exist. The compiler points at lines that use them. New programs use package sequencer directly.
//
// # Two kinds of ID
//
// sonyflake's IDs have a time in units of 10 ms, then the sequence number, then the machine. A sequencer's IDs have
// milliseconds, then the logical node, then the counter; no sequencer's layout matches sonyflake's. After the move a
// table has both kinds, and Last in [Settings] separates them:
//
//	ID          kind          decomposed by
//	<= Last     earlier       sonyflake's layout: BitsSequence, BitsMachineID, TimeUnit and StartTime in Settings
//	>  Last     sequencer's   the sequencer's definition
//
// [Sonyflake.ToTime], [Sonyflake.Decompose] and [Sonyflake.Compose] serve both. Last is sonyflake's largest ID in any
// table, or a larger number. New raises it to the end of its time unit, and rejects it unless the sequencer's present
// IDs are above. Processes can therefore move one at a time, with a Last some weeks ahead. Compute it once, and give
// the same to all:
//
//	last, err := sf.Compose(time.Now().AddDate(0, 1, 0), 0, 0) // with sony/sonyflake/v2
//
// The default layout needs sonyflake's StartTime as its epoch: its IDs are then five times as large as sonyflake's.
//
//	start := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{Epoch: epoch.At(start)})
//
// # Differences
//
//   - [Sonyflake.NextID] waits while the grid or the store is unavailable, however long. A server calls
//     [Sonyflake.NextIDContext].
//   - A logical node has up to 1,024 IDs per millisecond by default, and the IDs end 34.8 years after the epoch, where
//     sonyflake has 256 per 10 ms and 174 years.
//   - [Sonyflake.Decompose] returns a sequencer's time in sonyflake's units.
//   - Errors include values and limits: compare with [errors.Is], not with ==.
package sonyflake

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// sonyflake's errors.
var (
	// ErrInvalidBitsTime means that BitsSequence and BitsMachineID leave fewer than 32 bits for the time.
	ErrInvalidBitsTime = errors.New("too few bits for the time")
	// ErrInvalidBitsSequence means that BitsSequence is not 0 to 30.
	ErrInvalidBitsSequence = errors.New("sequence bits outside the limits")
	// ErrInvalidBitsMachineID means that BitsMachineID is not 0 to 30.
	ErrInvalidBitsMachineID = errors.New("machine bits outside the limits")
	// ErrInvalidTimeUnit means that TimeUnit is neither 0 nor at least 1 ms.
	ErrInvalidTimeUnit = errors.New("time unit outside the limits")
	// ErrInvalidSequence means that a sequence number does not fit into its bits.
	ErrInvalidSequence = errors.New("sequence number outside its bits")
	// ErrInvalidMachineID means that a machine number does not fit into its bits.
	ErrInvalidMachineID = errors.New("machine number outside its bits")
	// ErrStartTimeAhead means that StartTime is in the future, or that a time is before the first ID.
	ErrStartTimeAhead = errors.New("time before the start time")
	// ErrOverTimeLimit means that a time is after the last ID.
	ErrOverTimeLimit = errors.New("time after the last ID")
)

// Source generates IDs: a [*sequencer.Sequencer], or a [*sequencer.Striped], whose IDs ascend per logical node only.
type Source interface {
	Next(ctx context.Context) (sequencer.ID, error)
	Definition() sequencer.Definition
}

// Settings configures a [Sonyflake]. Sequencer is required; the other fields describe the earlier IDs, with sonyflake's
// defaults.
type Settings struct {
	// Sequencer generates the IDs.
	Sequencer Source
	// Last is sonyflake's largest ID, or a larger number below the IDs from Sequencer; 0 = there is none. The package
	// comment has the details.
	Last int64
	// BitsSequence is the earlier sequence number's length in bits, at most 30; 0 = 8.
	BitsSequence int
	// BitsMachineID is the earlier machine number's length in bits, at most 30; 0 = 16. The time has the rest up to 63
	// bits, at least 32.
	BitsMachineID int
	// TimeUnit is the unit for the earlier time, and for the time from [Sonyflake.Decompose]. At least 1 ms; 0 = 10 ms.
	TimeUnit time.Duration
	// StartTime is the origin for the earlier time; zero = 2025-01-01T00:00:00Z. Not in the future.
	StartTime time.Time
}

// Sonyflake generates IDs and decomposes both kinds. Make one with [New]. All methods may be called from any number of
// goroutines.
type Sonyflake struct {
	source     Source
	definition sequencer.Definition
	earlier    earlier
	last       int64 // largest earlier ID possible, at the end of a time unit; -1 without earlier IDs
	first      int64 // smallest ID that NextID returns: above last, and after StartTime's time unit
}

// New returns a Sonyflake that takes its IDs from st.Sequencer. It calls neither the grid nor the store.
//
// Errors: ErrInvalidBitsSequence, ErrInvalidBitsMachineID, ErrInvalidBitsTime, ErrInvalidTimeUnit, ErrStartTimeAhead;
// and [sequencer.ErrInvalidConfig] without a Sequencer, or for a Last that is negative, has no time, or is not below
// the present IDs from Sequencer.
func New(st Settings) (*Sonyflake, error) {
	now := time.Now()
	e, err := newEarlier(st, now)
	if err != nil {
		return nil, err
	}
	missing := st.Sequencer == nil
	switch s := st.Sequencer.(type) {
	case *sequencer.Sequencer:
		missing = s == nil
	case *sequencer.Striped:
		missing = s == nil
	}
	if missing {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"sonyflake: new: Settings.Sequencer is nil; give the result of CreateSequencer, and check its error before")
	}
	s := &Sonyflake{source: st.Sequencer, definition: st.Sequencer.Definition(), earlier: e, last: -1}
	// The ID's time unit, and the next one, have to fit an int64 as nanoseconds.
	if st.Last < 0 || e.timePart(st.Last) >= math.MaxInt64/e.unit-e.start {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"sonyflake: new: Settings.Last: %d is not sonyflake's; give its largest ID, or 0 if there is none", st.Last)
	}
	if st.Last > 0 {
		s.last = st.Last | (1<<(e.bitsSequence+e.bitsMachine) - 1) // of its time unit
	}
	if present := s.definition.MinID(now); int64(present) <= s.last {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"sonyflake: new: Settings.Last: %d is not below %d, the present IDs from %v; create the sequencer with an earlier "+
				"epoch, such as epoch.At of the StartTime",
			st.Last, present, s.definition)
	}
	s.first = max(s.last+1, int64(s.definition.MinID(e.at(1).Add(time.Millisecond-1)))) // the millisecond, rounded up
	return s, nil
}
