package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Errors of a request that the API does not carry out. Each kind has another remedy: a
// bad request is corrected in the program that sends it; an operator confirms an
// operation, or changes the state that forbids it, and tries again.
var (
	// ErrBadRequest says that a message is malformed, exceeds a limit, or states
	// something that cannot be true. Sending it again does not help. Rosters and
	// commands that are damaged where they are stored match it too.
	ErrBadRequest = errors.New("wire: bad request")

	// ErrNotNow says that the state of the member or of the grid forbids an operation.
	// The message names the required change.
	ErrNotNow = errors.New("wire: not possible in the present state")

	// ErrNotNeeded says that an operation has nothing to do.
	ErrNotNeeded = errors.New("wire: nothing to do")

	// ErrNotConfirmed says that an operation which can lose something was not confirmed.
	// Nothing was done; the message describes the effect and the confirmation.
	ErrNotConfirmed = errors.New("wire: not confirmed")

	// ErrSettingsConflict says that a bootstrap member's settings are in conflict with those that
	// a member states in its configuration.
	ErrSettingsConflict = errors.New("wire: conflicting settings")

	// ErrNotAddressed says that a call between members was for another grid or
	// another incarnation.
	ErrNotAddressed = errors.New("wire: the call was addressed to another grid or member")

	// ErrUnknownPath says that nothing is served at a request's path.
	ErrUnknownPath = errors.New("wire: unknown path")

	// ErrWrongMethod says that a path is served for other methods.
	ErrWrongMethod = errors.New("wire: method not served at this path")

	// ErrCrossOrigin says that a browser made a request for a page of another origin.
	ErrCrossOrigin = errors.New("wire: cross-origin request")

	// ErrContentType says that a request names no encoding, or an unknown one.
	ErrContentType = errors.New("wire: content type missing or unknown")
)

// ErrIdentityInUse says that a member ID that asks to join is registered for another
// process, which answers.
var ErrIdentityInUse = errors.New("wire: another process has this member's identity")

// Error is the body of every answer that is not 200 OK.
type Error struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Version roster.Version `json:"version,omitempty"`
}

// code is how one sentinel travels.
type code struct {
	name   string
	status int
	err    error
}

// codes is in order of precedence: an error that matches two travels as the first.
var codes = []code{
	{"wrong_owner", http.StatusMisdirectedRequest, roster.ErrWrongOwner},
	{"not_addressed", http.StatusMisdirectedRequest, ErrNotAddressed},
	{"unknown_path", http.StatusNotFound, ErrUnknownPath},
	{"wrong_method", http.StatusMethodNotAllowed, ErrWrongMethod},
	{"cross_origin", http.StatusForbidden, ErrCrossOrigin},
	{"content_type", http.StatusUnsupportedMediaType, ErrContentType},
	{"identity_in_use", http.StatusConflict, ErrIdentityInUse},
	{"settings_conflict", http.StatusConflict, ErrSettingsConflict},
	{"not_confirmed", http.StatusPreconditionRequired, ErrNotConfirmed},
	{"not_needed", http.StatusConflict, ErrNotNeeded},
	{"not_now", http.StatusConflict, ErrNotNow},
	{"epoch_exhausted", http.StatusBadRequest, sequencer.ErrEpochExhausted},
	{"invalid_config", http.StatusBadRequest, sequencer.ErrInvalidConfig},
	{"bad_request", http.StatusBadRequest, ErrBadRequest},
	{"bad_request", http.StatusBadRequest, partition.ErrBadClaim}, // arrives as ErrBadRequest
	{"not_found", http.StatusNotFound, sequencer.ErrNotFound},
	{"conflict", http.StatusConflict, sequencer.ErrConflict},
	{"destroyed", http.StatusGone, sequencer.ErrDestroyed},
	{"no_free_node", http.StatusServiceUnavailable, sequencer.ErrNoFreeNode},
	{"grant_expired", http.StatusServiceUnavailable, sequencer.ErrGrantExpired},
	{"detached", http.StatusConflict, sequencer.ErrDetached},
	{"attached", http.StatusConflict, sequencer.ErrAttached},
	{"closed", http.StatusServiceUnavailable, sequencer.ErrClosed},
	{"unavailable", http.StatusServiceUnavailable, sequencer.ErrUnavailable},
}

// ErrorOf converts err to its form on the wire. An error without a code of its own travels
// as unavailable: the caller may try again.
func ErrorOf(err error, v roster.Version) *Error {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return &Error{Code: c.name, Message: err.Error(), Version: v}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("the call took too long: %w", err)
	}
	return &Error{Code: "unavailable", Message: err.Error(), Version: v}
}

// Status returns the HTTP status of an error.
func (e *Error) Status() int {
	for _, c := range codes {
		if c.name == e.Code {
			return c.status
		}
	}
	return http.StatusServiceUnavailable
}

// Unwire returns the error again, matching the sentinel it was made from.
func (e *Error) Unwire() error {
	if e == nil {
		return nil
	}
	for _, c := range codes {
		if c.name == e.Code {
			return &remoteError{message: e.Message, cause: c.err}
		}
	}
	return &remoteError{message: e.Message, cause: sequencer.ErrUnavailable}
}

// remoteError keeps the words of the other side and the sentinel of this one.
type remoteError struct {
	message string
	cause   error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.cause }
