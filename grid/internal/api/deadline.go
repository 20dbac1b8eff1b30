package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// withDeadline returns a request with a context that ends at the caller's stated time limit, if any.
// Code that takes work from a queue checks the context first: under overload most queued work belongs
// to callers that have given up, and serving it would starve the others.
func withDeadline(r *http.Request) (*http.Request, context.CancelFunc, error) {
	text := r.Header.Get(wire.HeaderTimeout)
	if text == "" {
		return r, func() {}, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 1 {
		return r, func() {}, failure.Errorf(wire.ErrBadRequest,
			"grid: header %s is %.40q; give a whole number of milliseconds, 1 or more, or omit it",
			wire.HeaderTimeout, text)
	}
	ctx, cancel := context.WithTimeout(r.Context(),
		time.Duration(min(ms, (bodyTimeout+ServeTimeout).Milliseconds()))*time.Millisecond)
	return r.WithContext(ctx), cancel, nil
}

// timeLeft returns the caller's remaining time limit, 0 if it stated none.
func timeLeft(ctx context.Context) time.Duration {
	by, known := ctx.Deadline()
	if !known {
		return 0
	}
	return max(time.Until(by), 1)
}
