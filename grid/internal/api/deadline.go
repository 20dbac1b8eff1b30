package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// withDeadline returns a request whose context ends when its caller no longer waits for the
// answer, if it says how long it does. Code that takes work from a queue checks the context
// first: under overload most of the queued work is of callers that have gone, and serving
// them would leave no time for the others.
func withDeadline(r *http.Request) (*http.Request, context.CancelFunc, error) {
	text := r.Header.Get(wire.HeaderTimeout)
	if text == "" {
		return r, func() {}, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 1 {
		return r, func() {}, failure.Errorf(wire.ErrBadRequest, "grid: header %s is %.40q; give a whole number of milliseconds, 1 or more, or omit it",
			wire.HeaderTimeout, text)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(min(ms, (bodyTimeout+ServeTimeout).Milliseconds()))*time.Millisecond)
	return r.WithContext(ctx), cancel, nil
}

// timeLeft returns how long the caller of a request waits for the answer, 0 if it did not say.
func timeLeft(ctx context.Context) time.Duration {
	by, known := ctx.Deadline()
	if !known {
		return 0
	}
	return max(time.Until(by), 1)
}
