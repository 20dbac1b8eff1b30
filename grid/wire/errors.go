package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Errors of a request that no call of the API takes.
var (
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
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Version partition.Version `json:"version,omitempty"`
}

// code is how one sentinel travels.
type code struct {
	name   string
	status int
	err    error
}

// codes is in order of precedence: an error that matches two travels as the first.
var codes = []code{
	{"wrong_owner", http.StatusMisdirectedRequest, partition.ErrWrongOwner},
	{"not_addressed", http.StatusMisdirectedRequest, ErrNotAddressed},
	{"unknown_path", http.StatusNotFound, ErrUnknownPath},
	{"wrong_method", http.StatusMethodNotAllowed, ErrWrongMethod},
	{"cross_origin", http.StatusForbidden, ErrCrossOrigin},
	{"content_type", http.StatusUnsupportedMediaType, ErrContentType},
	{"identity_in_use", http.StatusConflict, ErrIdentityInUse},
	{"epoch_exhausted", http.StatusBadRequest, sequencer.ErrEpochExhausted},
	{"invalid_config", http.StatusBadRequest, sequencer.ErrInvalidConfig},
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

// ErrorOf returns what err looks like on the wire. What has no code of its own
// travels as unavailable: the caller may try again.
func ErrorOf(err error, v partition.Version) *Error {
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
