package roster

import (
	"errors"
	"fmt"
)

var (
	// ErrStale means that a command was computed from a roster that has been replaced since.
	// Compute it again from the newest one.
	ErrStale = errors.New("roster: command is from another roster version")

	// ErrRefused means that a command breaks a rule of the roster. The message names the rule;
	// sending the command again does not help.
	ErrRefused = errors.New("roster: command refused")

	// ErrInvalid means that a setting, a member's record or an identity is malformed or out of
	// bounds.
	ErrInvalid = errors.New("invalid value")

	// ErrDiffers means that a stated setting differs from the grid's.
	ErrDiffers = errors.New("setting differs from the grid's")

	// ErrWrongOwner is the reply from a member that does not, or no longer, own the requested
	// partition. The caller looks up the directory again.
	ErrWrongOwner = errors.New("roster: another member is the owner; look up the directory again")

	// ErrIDRefused means that a number is not given to the process that applied for it: another
	// process has it, or it is not the set's next number. The error is a [*RefusedID]. The process
	// gives up this application and requests the next number.
	ErrIDRefused = errors.New("roster: number refused")

	// ErrNotRegistered means that no process in the set has the number, or that another code has
	// it. A process with such a number on its disk must not take another one by itself: an operator
	// imports the number again, or removes the file.
	ErrNotRegistered = errors.New("roster: the number is not registered")

	// ErrUnknownSet means that no process has ever applied for a number in the set.
	ErrUnknownSet = errors.New("roster: unknown set")

	// ErrCleanUnknownSet is the [ErrUnknownSet] reply to a clean.
	ErrCleanUnknownSet = fmt.Errorf("%w, so nothing is removed", ErrUnknownSet)

	// ErrFenced means that a later process has registered with the same number. The
	// earlier one stops: it is a copy, or has been replaced.
	ErrFenced = errors.New("roster: fenced by a later registration of the same number")
)

// RefusedID is a refused application for a number. It matches [ErrIDRefused] and [ErrRefused].
type RefusedID struct {
	Next   uint64 // the number that the set gives next
	Reason string // the complete error text
}

// Error implements error.
func (e *RefusedID) Error() string { return e.Reason }

// Is reports whether target is [ErrIDRefused] or [ErrRefused].
func (e *RefusedID) Is(target error) bool { return target == ErrIDRefused || target == ErrRefused }
