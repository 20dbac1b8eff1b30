package roster

import "errors"

var (
	// ErrStale means that a command was computed from a roster that has been replaced since.
	// Compute it again from the newest one.
	ErrStale = errors.New("roster: command is from another roster version")

	// ErrRefused means that a command breaks a rule of the roster. The message names the rule;
	// sending the command again does not help.
	ErrRefused = errors.New("roster: command refused")

	// ErrInvalid means that a setting or a member's record is malformed or out of bounds.
	ErrInvalid = errors.New("invalid value")

	// ErrDiffers means that a stated setting differs from the grid's.
	ErrDiffers = errors.New("setting differs from the grid's")

	// ErrWrongOwner is the reply from a member that does not, or no longer, own the requested
	// partition. The caller looks up the directory again.
	ErrWrongOwner = errors.New("roster: this member is not the owner at present; look up the directory again")
)
