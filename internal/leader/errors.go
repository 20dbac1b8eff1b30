package leader

import (
	"errors"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// The kinds of errors for requests. Each error has its own text.
var (
	// ErrNotLeading means that another member has to handle the request, or that the request
	// needs a newer roster than this leader has applied.
	ErrNotLeading = errors.New("leader: this member does not lead the grid")
	// ErrUnavailable means that the same request may succeed at any time.
	ErrUnavailable = errors.New("leader: unavailable")
	// ErrBadRequest means that the request is wrong: its member does not confirm it.
	ErrBadRequest = errors.New("leader: bad request")
	// ErrNotNow means that the grid's state forbids the request.
	ErrNotNow = errors.New("leader: not possible in the present state")
	// ErrNotNeeded means that there is nothing to do.
	ErrNotNeeded = errors.New("leader: nothing to do")
	// ErrNotConfirmed means that an operator has to confirm the request.
	ErrNotConfirmed = errors.New("leader: not confirmed")
	// ErrIdentityInUse means that another process with the same member ID answers.
	ErrIdentityInUse = errors.New("leader: the member's identity is in use")
	// ErrOtherClaim means that the member is registered under another anchor claim.
	ErrOtherClaim = errors.New("leader: the member is registered under another claim")
)

var errNotLeading = failure.Errorf(ErrNotLeading, "grid: this member is no longer the leader")
