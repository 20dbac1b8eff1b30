package roster

import (
	"errors"
)

var (
	// ErrStale means that a command was computed from a roster that has been
	// replaced since. Compute it again from the newest one.
	ErrStale = errors.New("roster: command is from another roster version")

	// ErrRefused means that a command breaks a rule of the roster. The message
	// says which; sending it again does not help.
	ErrRefused = errors.New("roster: command refused")

	// ErrInvalid means that a setting, a member's record or an identity is
	// malformed or out of bounds.
	ErrInvalid = errors.New("invalid value")

	// ErrDiffers means that a stated setting differs from the grid's.
	ErrDiffers = errors.New("setting differs from the grid's")

	// ErrWrongOwner is the reply of a member that does not, or no longer, own the
	// requested partition. The caller looks up the directory again.
	ErrWrongOwner = errors.New("roster: another member is the owner; look up the directory again")
)
