package gridtest_test

import (
	"context"
	"log/slog"
	"sync"
)

// recorder counts log messages.
type recorder struct {
	mu       sync.Mutex
	messages map[string]int
}

// logger returns a logger whose records are counted, and shown by go test -v.
func (r *recorder) logger() *slog.Logger {
	next := slog.DiscardHandler
	if l := logger(); l != nil {
		next = l.Handler()
	}
	return slog.New(recording{next, r})
}

// count returns how often a message was logged.
func (r *recorder) count(message string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages[message]
}

// recording is a recorder's handler.
type recording struct {
	slog.Handler
	r *recorder
}

// Enabled implements slog.Handler.
func (recording) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h recording) Handle(ctx context.Context, record slog.Record) error {
	h.r.mu.Lock()
	if h.r.messages == nil {
		h.r.messages = map[string]int{}
	}
	h.r.messages[record.Message]++
	h.r.mu.Unlock()
	if h.Handler.Enabled(ctx, record.Level) {
		return h.Handler.Handle(ctx, record)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (h recording) WithAttrs(attrs []slog.Attr) slog.Handler {
	return recording{h.Handler.WithAttrs(attrs), h.r}
}

// WithGroup implements slog.Handler.
func (h recording) WithGroup(name string) slog.Handler {
	return recording{h.Handler.WithGroup(name), h.r}
}
