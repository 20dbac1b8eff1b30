package main

import (
	"context"
	"log/slog"
	"time"
)

// opening observes the open of a store, which may be away for long at the start.
type opening struct {
	slog.Handler
	failed func(error) // called with the error of each attempt
}

// Enabled implements slog.Handler: each attempt is observed, whatever is logged.
func (o opening) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn || o.Handler.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (o opening) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, is := a.Value.Any().(error); is {
			o.failed(err)
		}
		return true
	})
	if !o.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return o.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (o opening) WithAttrs(attrs []slog.Attr) slog.Handler {
	return opening{o.Handler.WithAttrs(attrs), o.failed}
}

// WithGroup implements slog.Handler.
func (o opening) WithGroup(name string) slog.Handler {
	return opening{o.Handler.WithGroup(name), o.failed}
}

// Attempts of a store that does not answer at the start.
const (
	tryWait  = 5 * time.Second // for one attempt
	tryApart = 200 * time.Millisecond
)

// untilAnswered calls a store until it answers or ctx ends, and returns its last error. An error for which starting
// is false ends it. Each other error is passed on, so that callers and the log have the cause meanwhile.
func untilAnswered(ctx context.Context, failing func(error), starting func(error) bool,
	call func(context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, tryWait)
		err := call(try)
		late := try.Err() != nil
		cancel()
		if err == nil || !late && !starting(err) {
			return err
		}
		failing(err)
		select {
		case <-time.After(tryApart):
		case <-ctx.Done():
			return err
		}
	}
}
