package wire

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Entries in the Raft log and snapshots start with their format number: the [roster.Protocol] required
// to read them. So a member with an older protocol stops with a [FormatError] at an unsupported entry,
// and does not mistake it for damage. Content that an older release supports is written in its exact
// format.

// formatted encodes v, preceded by its format number.
func formatted(needed roster.Protocol, v any) ([]byte, error) {
	data, err := Encode(MsgPack, v)
	if err != nil {
		return nil, err
	}
	return append([]byte{byte(needed)}, data...), nil
}

// readFormatted decodes data made by formatted, in any supported format, and returns the format.
func readFormatted(data []byte, v any) (roster.Protocol, error) {
	if len(data) == 0 {
		return 0, failure.Errorf(ErrBadRequest, "the entry is empty")
	}
	format := roster.Protocol(data[0])
	if format < roster.OldestProtocol || format > roster.CurrentProtocol {
		if err := CheckFormat(int(format), int(roster.CurrentProtocol)); err != nil {
			return 0, failure.Errorf(ErrBadRequest, "%w", err)
		}
	}
	return format, Decode(MsgPack, data[1:], v)
}

// checkNeeded refuses an entry with a part that its format does not have: an older release
// would take it for damage.
func checkNeeded(format, needed roster.Protocol, part string) error {
	if needed > format {
		return failure.Errorf(ErrBadRequest, "it has format %d, and %s needs format %d", format, part, needed)
	}
	return nil
}

// EncodeCommand returns a roster command as the Raft log keeps it.
func EncodeCommand(c roster.Command) ([]byte, error) {
	needed, _ := c.Needs()
	return formatted(needed, c)
}

// DecodeCommand decodes a command encoded by EncodeCommand. A command with another format, with an
// unknown part, or empty, is an error: a member that skipped it would diverge from the rest.
func DecodeCommand(data []byte) (roster.Command, error) {
	var c roster.Command
	format, err := readFormatted(data, &c)
	if err == nil && c.Parts() == 0 {
		err = failure.Errorf(ErrBadRequest, "the command has no part that this version supports")
	}
	if err == nil {
		needed, part := c.Needs()
		err = checkNeeded(format, needed, part)
	}
	return c, err
}

// EncodeRoster returns a roster as Raft snapshots keep it.
func EncodeRoster(r *roster.Roster) ([]byte, error) {
	needed, _ := rosterNeeds(r)
	return formatted(needed, r)
}

// DecodeRoster decodes a roster encoded by EncodeRoster. It rejects a roster that no sequence of
// commands can produce, so that a damaged snapshot is not served.
func DecodeRoster(data []byte) (*roster.Roster, error) {
	r := new(roster.Roster)
	format, err := readFormatted(data, r)
	if err != nil {
		return nil, err
	}
	needed, part := rosterNeeds(r)
	if err := checkNeeded(format, needed, part); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, failure.Errorf(ErrBadRequest, "the roster is damaged: %w", err)
	}
	return r, nil
}

// rosterNeeds returns the protocol that is required to read a roster, including its protocol
// number, and the part that requires it.
func rosterNeeds(r *roster.Roster) (roster.Protocol, string) {
	if r.Protocol != 0 {
		return r.Protocol, "the protocol number"
	}
	return r.Needs()
}

// A FormatError reports stored data in a format that this version of snowgrid does not read. The
// data is not damaged: a version that reads the format can use it.
type FormatError struct {
	Got, Reads int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("it has format %d and this version of snowgrid reads format %d; start the version of snowgrid "+
		"that wrote it, or a later one",
		e.Got, e.Reads)
}

// CheckFormat compares stored data's format number with the supported one. The error is a *FormatError
// if the number is later.
func CheckFormat(got, reads int) error {
	switch {
	case got > reads:
		return &FormatError{Got: got, Reads: reads}
	case got < reads:
		return fmt.Errorf("its format number is %d and the only format there is so far is %d", got, reads)
	}
	return nil
}
