package numbers

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/failure"
)

var (
	// ErrInvalid means that a command or an identity is malformed or out of bounds.
	ErrInvalid = errors.New("invalid value")

	// ErrRefused means that a command breaks a rule of a set, or exceeds the grid's limits. The
	// message names the rule; sending the command again does not help.
	ErrRefused = errors.New("numbers: command refused")

	// ErrIDRefused means that a number is not given to the process that applied for it: another
	// process has it, or it is not the set's next number. The error is a [*RefusedID]. The process
	// gives up this application and requests the next number.
	ErrIDRefused = errors.New("numbers: number refused")

	// ErrNotRegistered means that no process in the set has the number, or that another code has
	// it. A process with such a number on its disk must not take another one by itself: an operator
	// imports the number again, or removes the file.
	ErrNotRegistered = errors.New("numbers: the number is not registered")

	// ErrUnknownSet means that no process has ever applied for a number in the set.
	ErrUnknownSet = errors.New("numbers: unknown set")

	// ErrFenced means that a later process has registered with the same number. The
	// earlier one stops: it is a copy, or has been replaced.
	ErrFenced = errors.New("numbers: fenced by a later registration of the same number")

	// ErrAlive means that a process whose number is to be removed runs, or may run.
	ErrAlive = errors.New("numbers: a process with the number is alive")

	// errChanged means that a process has registered since a clean was proposed.
	errChanged = errors.New("numbers: the process has another incarnation")
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

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// invalidIf returns nil for no fault.
func invalidIf(fault string) error {
	if fault == "" {
		return nil
	}
	return invalidf("%s", fault)
}

func refusedf(format string, args ...any) error { return failure.Errorf(ErrRefused, format, args...) }
