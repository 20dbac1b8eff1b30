// Package refusal has the errors that several rooms of a member return.
package refusal

import (
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ErrClosed is the error of every method of a closed member.
var ErrClosed = failure.Errorf(sequencer.ErrClosed,
	"grid: the member was closed; start another one and take the handle from there")

// ErrNotLeader is the answer of a member to a call that only the leader serves.
var ErrNotLeader = failure.Errorf(sequencer.ErrUnavailable, "grid: this member does not lead the grid")

// Invalid returns an error of the configuration: it matches sequencer.ErrInvalidConfig.
// Errors among args give their text, without the prefix that the new one has as well.
func Invalid(format string, args ...any) error {
	for i, arg := range args {
		if err, is := arg.(error); is {
			args[i] = Unprefixed(err)
		}
	}
	return failure.Errorf(sequencer.ErrInvalidConfig, "grid: "+format, args...)
}

// Unprefixed returns the text of an error without this package's prefix, for a message
// that has the prefix already.
func Unprefixed(err error) string { return strings.TrimPrefix(err.Error(), "grid: ") }
