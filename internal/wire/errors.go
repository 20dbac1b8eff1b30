package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Errors for requests that the API does not execute. Each kind has another remedy: a bad request is
// corrected in the program that sends it; an operator confirms an operation, or changes the state
// that forbids it, and tries again.
var (
	// ErrBadRequest reports that a message is malformed, exceeds a limit, or states an impossible value.
	// Retrying does not help. Damaged stored rosters and commands match it too.
	ErrBadRequest = errors.New("wire: bad request")

	// ErrNotNow reports that the member's or the grid's state forbids an operation. The message names the
	// required change.
	ErrNotNow = errors.New("wire: not possible in the present state")

	// ErrNotNeeded reports that an operation has nothing to do.
	ErrNotNeeded = errors.New("wire: nothing to do")

	// ErrNotConfirmed reports that a lossy operation was not confirmed. Nothing was done; the message
	// describes the effect and the confirmation.
	ErrNotConfirmed = errors.New("wire: not confirmed")

	// ErrSettingsConflict reports that a bootstrap member's settings conflict with a member's configuration.
	ErrSettingsConflict = errors.New("wire: conflicting settings")

	// ErrNotAddressed reports that a call between members was for another grid or another incarnation.
	ErrNotAddressed = errors.New("wire: the call was addressed to another grid or member")

	// ErrForeignGrid reports that a join address belongs to another grid's member.
	ErrForeignGrid = errors.New("wire: a member of another grid")

	// ErrUnknownPath reports that a request's path is not served.
	ErrUnknownPath = errors.New("wire: unknown path")

	// ErrWrongMethod reports that a path does not serve the method.
	ErrWrongMethod = errors.New("wire: method not served at this path")

	// ErrCrossOrigin reports that a browser made a request for a page from another origin.
	ErrCrossOrigin = errors.New("wire: cross-origin request")

	// ErrContentType reports that a request names no encoding, or an unknown one.
	ErrContentType = errors.New("wire: content type missing or unknown")
)

// ErrIdentityInUse reports that a joining member's ID is registered for another process, which is
// alive.
var ErrIdentityInUse = errors.New("wire: another process has this member's identity")

// ErrOtherClaim reports that a joining process is registered under another anchor claim.
var ErrOtherClaim = errors.New("wire: the process is registered under another claim of the anchor")

// Errors from the number calls, besides those in package numbers.
var (
	// ErrCleanUnknownSet is the numbers.ErrUnknownSet reply to a clean or a drop: RocketMQ has
	// another code for it.
	ErrCleanUnknownSet = fmt.Errorf("%w, so nothing is removed", numbers.ErrUnknownSet)

	// ErrProtocol reports that the grid's processes, or the caller, run a snowgrid version that is
	// too old for the call. The message names the versions. The same call succeeds once they are
	// upgraded.
	ErrProtocol = errors.New("wire: protocol version too old")
)

// ErrOverloaded reports that a member has more requests than it can serve in time, and refused this
// one before any effect. The reply has a retry time. It matches sequencer.ErrUnavailable.
var ErrOverloaded = fmt.Errorf("wire: overloaded: %w", sequencer.ErrUnavailable)

// Error is the body of every reply except 200 OK.
type Error struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Version roster.Version `json:"version,omitempty"`
	// CodeLegacy is RocketMQ's controller code for the same refusal; 0 for none.
	CodeLegacy int `json:"code_legacy,omitempty"`
	// Next is the number that the set gives next, with code id_refused.
	Next uint64 `json:"next,omitempty"`
	// RetryAfter is after how many milliseconds the same call may succeed, with codes quota
	// and overloaded; 0 if time alone does not help. The answer has it as Retry-After too, in seconds.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
}

// code maps a sentinel to its wire code.
type code struct {
	name   string
	status int
	err    error
	legacy int // [Error.CodeLegacy], 0 for none
}

// codes is in order of precedence: an error that matches two is sent as the first.
var codes = []code{
	{"wrong_owner", http.StatusMisdirectedRequest, roster.ErrWrongOwner, 0},
	{"not_addressed", http.StatusMisdirectedRequest, ErrNotAddressed, 0},
	{"unknown_path", http.StatusNotFound, ErrUnknownPath, 0},
	{"wrong_method", http.StatusMethodNotAllowed, ErrWrongMethod, 0},
	{"cross_origin", http.StatusForbidden, ErrCrossOrigin, 0},
	{"unauthenticated", http.StatusUnauthorized, security.ErrUnauthenticated, 0},
	{"denied", http.StatusForbidden, security.ErrDenied, 0},
	{"content_type", http.StatusUnsupportedMediaType, ErrContentType, 0},
	{"fenced", http.StatusConflict, numbers.ErrFenced, 0},
	{"id_refused", http.StatusConflict, numbers.ErrIDRefused, 2014},
	{"not_registered", http.StatusNotFound, numbers.ErrNotRegistered, 2010},
	{"alive", http.StatusConflict, numbers.ErrAlive, 2009},
	{"unknown_set", http.StatusNotFound, ErrCleanUnknownSet, 2009}, // matches ErrUnknownSet too
	{"unknown_set", http.StatusNotFound, numbers.ErrUnknownSet, 2008},
	{"protocol", http.StatusUpgradeRequired, ErrProtocol, 0},
	{"identity_in_use", http.StatusConflict, ErrIdentityInUse, 0},
	{"other_claim", http.StatusConflict, ErrOtherClaim, 0},
	{"foreign_grid", http.StatusConflict, ErrForeignGrid, 0},
	{"settings_conflict", http.StatusConflict, ErrSettingsConflict, 0},
	{"not_confirmed", http.StatusPreconditionRequired, ErrNotConfirmed, 0},
	{"not_needed", http.StatusConflict, ErrNotNeeded, 0},
	{"not_now", http.StatusConflict, ErrNotNow, 0},
	{"epoch_exhausted", http.StatusBadRequest, sequencer.ErrEpochExhausted, 0},
	{"invalid_config", http.StatusBadRequest, sequencer.ErrInvalidConfig, 0},
	{"bad_request", http.StatusBadRequest, ErrBadRequest, 0},
	{"bad_request", http.StatusBadRequest, failure.ErrBadClaim, 0}, // arrives as ErrBadRequest
	{"not_found", http.StatusNotFound, sequencer.ErrNotFound, 0},
	{"conflict", http.StatusConflict, sequencer.ErrConflict, 0},
	{"destroyed", http.StatusGone, sequencer.ErrDestroyed, 0},
	{"in_use", http.StatusConflict, failure.ErrInUse, 0},
	{"quota", http.StatusTooManyRequests, sequencer.ErrQuota, 0},
	{"no_free_node", http.StatusServiceUnavailable, sequencer.ErrNoFreeNode, 0},
	{"grant_expired", http.StatusServiceUnavailable, sequencer.ErrGrantExpired, 0},
	{"detached", http.StatusConflict, sequencer.ErrDetached, 0},
	{"attached", http.StatusConflict, sequencer.ErrAttached, 0},
	{"closed", http.StatusServiceUnavailable, sequencer.ErrClosed, 0},
	{"overloaded", http.StatusServiceUnavailable, ErrOverloaded, 0},
	{"unavailable", http.StatusServiceUnavailable, sequencer.ErrUnavailable, 0},
}

// Codes returns each code of an [Error] with its HTTP status, in order of precedence.
func Codes() (names []string, statuses map[string]int) {
	statuses = map[string]int{}
	for _, c := range codes {
		if _, has := statuses[c.name]; !has {
			names = append(names, c.name)
		}
		statuses[c.name] = c.status
	}
	return names, statuses
}

// ErrorOf converts err to its wire form. An error without its own code is sent as unavailable: the
// caller may try again.
func ErrorOf(err error, v roster.Version) *Error {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			e := &Error{Code: c.name, Message: err.Error(), Version: v, CodeLegacy: c.legacy}
			if refused, ok := errors.AsType[*numbers.RefusedID](err); ok {
				e.Next = refused.Next
			}
			if later, ok := errors.AsType[retryAfter](err); ok {
				e.RetryAfter = (later.RetryAfter() + time.Millisecond - 1).Milliseconds()
			}
			return e
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("the call took too long: %w", err)
	}
	return &Error{Code: "unavailable", Message: err.Error(), Version: v}
}

// Status returns the error's HTTP status.
func (e *Error) Status() int {
	if i := e.row(); i >= 0 {
		return codes[i].status
	}
	return http.StatusServiceUnavailable
}

// Unwire returns the error again, matching the sentinel it was made from.
func (e *Error) Unwire() error {
	if e == nil {
		return nil
	}
	cause := sequencer.ErrUnavailable
	if i := e.row(); i >= 0 {
		cause = codes[i].err
	}
	if errors.Is(cause, numbers.ErrIDRefused) {
		cause = &numbers.RefusedID{Next: e.Next, Reason: e.Message}
	}
	if e.RetryAfter > 0 {
		return &LaterError{Message: e.Message, After: time.Duration(min(e.RetryAfter, math.MaxInt32)) * time.Millisecond,
			Of: cause}
	}
	return &remoteError{message: e.Message, cause: cause}
}

// IsAnswer reports whether an error is another process's reply, as opposed to a missing reply.
func IsAnswer(err error) bool {
	_, remote := errors.AsType[*remoteError](err)
	_, later := errors.AsType[*LaterError](err)
	return remote || later
}

// row returns the index in codes from which e was made, -1 for none. Rows with one code differ in
// the legacy code, which a member that forwards the error has to keep.
func (e *Error) row() int {
	last := -1
	for i, c := range codes {
		switch {
		case c.name != e.Code:
		case c.legacy == e.CodeLegacy:
			return i
		default:
			last = i
		}
	}
	return last
}

// retryAfter is an error that time alone removes.
type retryAfter interface {
	error
	RetryAfter() time.Duration
}

// LaterError refuses a call that may succeed after some time.
type LaterError struct {
	Message string
	After   time.Duration
	Of      error // the sentinel that it matches
}

// Error implements error.
func (e *LaterError) Error() string { return e.Message }

// Unwrap returns the sentinel.
func (e *LaterError) Unwrap() error { return e.Of }

// RetryAfter returns the time until the same call may succeed.
func (e *LaterError) RetryAfter() time.Duration { return e.After }

// remoteError keeps the remote side's text and the local sentinel.
type remoteError struct {
	message string
	cause   error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.cause }
