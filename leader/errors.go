package leader

import (
	"errors"
)

// The kinds of errors that requests end with. Each error has a text of its own.
var (
	// ErrNotLeading means that the request has to go to another member, or is ahead of
	// what this leader has applied.
	ErrNotLeading = errors.New("leader: this member does not lead the grid")
	// ErrNotNow means that the same request may succeed later.
	ErrNotNow = errors.New("leader: not now")
	// ErrRefused means that the request is wrong: its member does not confirm it.
	ErrRefused = errors.New("leader: refused")
	// ErrIdentityInUse means that another process with the same member ID answers.
	ErrIdentityInUse = errors.New("leader: the member's identity is in use")
)
