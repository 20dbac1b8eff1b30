package main

import (
	"errors"
	"fmt"
)

// Exit statuses. Read-only commands return exitUnreachable if no member replies, so that a script can
// tell an unreachable grid from a refusal.
const (
	exitDone        = 0
	exitFailed      = 1 // the operation failed or was refused
	exitUsage       = 2 // the command line or the configuration is invalid
	exitUnreachable = 3 // no member answers
	exitDegraded    = 4 // the grid answers, and needs attention, or verify has found problems
)

// exitText is the part of --help about exit statuses.
const exitText = `Exit status: 0 done; 1 the operation failed or was refused; 2 the command line or configuration is invalid; 3 no member answers
(commands that only ask: status, members, sequencers, holders, top, settings, export, and the lists); 4 the grid needs attention (status --check,
wait, verify), or a list is not complete (sequencers, debug bundle).`

// exitError is an error with its own exit status.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// errNoMember is matched by the error for a request that no member answered.
var errNoMember = errors.New("no member answers")

// usage gives an error about an argument of the command line its exit status.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{status: exitUsage, err: err}
}

// degraded returns an error about a grid that needs attention, or a result that does.
func degraded(format string, args ...any) error {
	return &exitError{status: exitDegraded, err: fmt.Errorf(format, args...)}
}

// asking attaches the exit status of a read-only command to err.
func asking(err error) error {
	if errors.Is(err, errNoMember) {
		return &exitError{status: exitUnreachable, err: err}
	}
	return err
}

func exitStatusOf(err error) int {
	if exit, is := errors.AsType[*exitError](err); is {
		return exit.status
	}
	if isSettingError(err) {
		return exitUsage
	}
	return exitFailed
}
