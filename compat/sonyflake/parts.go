package sonyflake

import (
	"math/bits"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ToTime returns an ID's local time: an earlier ID's time unit, or a sequencer's millisecond.
func (s *Sonyflake) ToTime(id int64) time.Time {
	if id <= s.last {
		return s.earlier.at(s.earlier.timePart(id))
	}
	return s.definition.Decompose(sequencer.ID(id)).Time.Local()
}

// Decompose returns an ID's parts:
//
//	key        earlier ID                    sequencer's ID
//	id         the ID                        the ID
//	time       time units since StartTime    the same, in whole units
//	sequence   sequence number               counter
//	machine    machine number                logical node
//
// The time has one meaning for both, so a program that adds it to StartTime remains right. If a time unit is longer
// than a millisecond, a sequencer's IDs can have equal parts: use the IDs as keys, not their parts.
func (s *Sonyflake) Decompose(id int64) map[string]int64 {
	if id <= s.last {
		e := s.earlier
		return map[string]int64{
			"id":       id,
			"time":     e.timePart(id),
			"sequence": id >> e.bitsMachine & (1<<e.bitsSequence - 1),
			"machine":  id & (1<<e.bitsMachine - 1),
		}
	}
	p := s.definition.Decompose(sequencer.ID(id))
	return map[string]int64{
		"id":       id,
		"time":     s.earlier.units(p.Time) - s.earlier.start,
		"sequence": int64(p.Counter),
		"machine":  int64(p.Node),
	}
}

// Compose returns the ID with these parts: an earlier ID for a time up to Last's, a sequencer's ID for a later time.
// Each kind has its own limits for the numbers. Compose issues nothing: the same parts give the same ID.
//
// Errors: ErrStartTimeAhead for a time before StartTime or the sequencer's epoch, or for which the sequencer has no ID
// above Last; ErrOverTimeLimit, ErrInvalidSequence, ErrInvalidMachineID.
func (s *Sonyflake) Compose(t time.Time, sequence, machine int) (int64, error) {
	e, d := s.earlier, s.definition
	if t.Before(e.at(0)) {
		return 0, failure.Errorf(ErrStartTimeAhead, "sonyflake: compose: time %s: is before StartTime; give %s or later",
			text(t), text(e.at(0)))
	}
	if t.Before(e.at(e.timePart(s.last) + 1)) {
		if err := checkNumbers(sequence, machine, 1<<e.bitsSequence, 1<<e.bitsMachine); err != nil {
			return 0, err
		}
		part := e.units(t) - e.start
		return part<<(e.bitsSequence+e.bitsMachine) | int64(sequence)<<e.bitsMachine | int64(machine), nil
	}
	if !t.Before(d.Exhausted()) {
		return 0, failure.Errorf(ErrOverTimeLimit,
			"sonyflake: compose: time %s: is after the last ID from %v; give one before %s", text(t), d, text(d.Exhausted()))
	}
	cfg := d.Config()
	counterBits := cfg.Layout.LowBits - bits.Len(uint(cfg.Nodes-1))
	if err := checkNumbers(sequence, machine, 1<<counterBits, cfg.Nodes); err != nil {
		return 0, err
	}
	id, err := d.Compose(sequencer.Parts{Time: t, Node: sequencer.NodeID(machine), Counter: uint32(sequence)})
	if err != nil { // a time before the epoch
		return 0, failure.Errorf(ErrStartTimeAhead, "sonyflake: compose: %w", err)
	}
	if int64(id) <= s.last {
		return 0, failure.Errorf(ErrStartTimeAhead,
			"sonyflake: compose: time %s: the ID %d from %v is not above Settings.Last, %d; give a later time", text(t), id, d,
			s.last)
	}
	return int64(id), nil
}

// checkNumbers returns an error for a sequence number or a machine number that is not below its limit.
func checkNumbers(sequence, machine, sequences, machines int) error {
	if sequence < 0 || sequence >= sequences {
		return failure.Errorf(ErrInvalidSequence,
			"sonyflake: compose: sequence %d: outside the limits; give 0 to %d", sequence, sequences-1)
	}
	if machine < 0 || machine >= machines {
		return failure.Errorf(ErrInvalidMachineID,
			"sonyflake: compose: machine %d: outside the limits; give 0 to %d", machine, machines-1)
	}
	return nil
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
