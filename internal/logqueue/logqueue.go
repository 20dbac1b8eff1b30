// Package logqueue writes log lines to a sink that may block: a pipe that is no longer read, or
// a slog.Handler of a user. A caller waits for its line to be written, so that lines keep their
// order and none is missing at the end of a program, but for a tenth of a second at most. From then
// on lines are queued, and dropped beyond a bound, until the sink has taken them all. Then a line
// says how many were dropped.
//
// It has no goroutine while nothing is written.
package logqueue

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// waitMax bounds the wait of a caller for its line.
	waitMax = 100 * time.Millisecond
	// linesMax is how many lines are queued.
	linesMax = 1024
)

// total counts the lines that all queues of the process dropped.
var total atomic.Uint64

// Dropped returns how many lines the process has dropped.
func Dropped() uint64 { return total.Load() }

// queue is the lines to one sink.
type queue struct {
	note func(dropped int) // writes the line about lines that were dropped

	mu      sync.Mutex // guards what follows; never held while a line is written
	lines   []line     // the first is being written
	writing bool       // a goroutine writes lines
	stuck   bool       // the sink did not take a line in time, and lines are left
	dropped int        // since the last note
}

type line struct {
	write   func()
	written chan struct{}
}

// isStuck reports whether the sink did not take a line in time.
func (q *queue) isStuck() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stuck
}

// do writes a line, or queues or drops it if the sink does not take it in time.
func (q *queue) do(write func()) {
	written := make(chan struct{})
	q.mu.Lock()
	if len(q.lines) >= linesMax {
		q.dropped++
		total.Add(1)
		q.mu.Unlock()
		return
	}
	q.lines = append(q.lines, line{write, written})
	if !q.writing {
		q.writing = true
		go q.drain()
	}
	stuck := q.stuck
	q.mu.Unlock()
	if stuck {
		return
	}
	select {
	case <-written:
	case <-time.After(waitMax):
		q.mu.Lock()
		q.stuck = q.writing
		q.mu.Unlock()
	}
}

// drain writes lines until none is left.
func (q *queue) drain() {
	for {
		q.mu.Lock()
		dropped := q.dropped
		if len(q.lines) == 0 && dropped == 0 {
			q.writing, q.stuck = false, false
			q.mu.Unlock()
			return
		}
		var next line
		if len(q.lines) == 0 {
			q.dropped = 0
		} else {
			next = q.lines[0]
		}
		q.mu.Unlock()
		if next.write == nil {
			q.note(dropped)
			continue
		}
		next.write()
		close(next.written)
		q.mu.Lock()
		q.lines[0] = line{}
		q.lines = q.lines[1:]
		q.mu.Unlock()
	}
}

// handler is a slog.Handler with a queue in front of it.
type handler struct {
	slog.Handler
	queue  *queue
	levels *levels
}

// levels has the last reply of a handler's Enabled for each level.
type levels struct{ replies sync.Map }

// Enabled implements slog.Handler. While the sink is blocked it returns the last reply.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	switch h.Handler.(type) {
	case *slog.TextHandler, *slog.JSONHandler: // their Enabled does not block
		return h.Handler.Enabled(ctx, level)
	}
	if !h.queue.isStuck() {
		ctx := context.WithoutCancel(ctx)
		h.queue.do(func() { h.levels.replies.Store(level, h.Handler.Enabled(ctx, level)) })
	}
	last, known := h.levels.replies.Load(level)
	return !known || last.(bool)
}

// Logger returns a logger that writes to the same handler as log and does not block, log
// itself if it is one already.
func Logger(log *slog.Logger) *slog.Logger {
	if _, queued := log.Handler().(handler); queued || log.Handler() == slog.DiscardHandler {
		return log
	}
	inner := log.Handler()
	return slog.New(handler{Handler: inner, levels: &levels{}, queue: &queue{note: func(dropped int) {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, droppedMessage, 0)
		r.AddAttrs(slog.Int("lines", dropped))
		_ = inner.Handle(context.Background(), r)
	}}})
}

const droppedMessage = "log lines dropped: the log was not read"

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	ctx = context.WithoutCancel(ctx)
	h.queue.do(func() {
		if h.Handler.Enabled(ctx, r.Level) { // while it was blocked its last reply counted
			_ = h.Handler.Handle(ctx, r)
		}
	})
	return nil
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.queue, h.levels}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.queue, h.levels}
}

// writer is an io.Writer with a queue in front of it.
type writer struct {
	to    io.Writer
	queue *queue
}

// Writer returns a writer to the same sink that does not block. Each write is one line.
func Writer(to io.Writer) io.Writer {
	return writer{to, &queue{note: func(dropped int) {
		slog.New(slog.NewTextHandler(to, nil)).Warn(droppedMessage, "lines", dropped)
	}}}
}

// Flush waits until the lines of a [Writer] are written, for d at most: a process that ends would lose
// them.
func Flush(w io.Writer, d time.Duration) {
	own, queued := w.(writer)
	if !queued {
		return
	}
	var last chan struct{}
	own.queue.mu.Lock()
	if n := len(own.queue.lines); n > 0 {
		last = own.queue.lines[n-1].written
	}
	own.queue.mu.Unlock()
	if last == nil {
		return
	}
	select {
	case <-last:
	case <-time.After(d):
	}
}

// Write implements io.Writer. It returns an error only if the line was written in time.
func (w writer) Write(p []byte) (int, error) {
	var err error
	var mu sync.Mutex // of err: the line may be written later
	own := append([]byte(nil), p...)
	w.queue.do(func() {
		_, failed := w.to.Write(own)
		mu.Lock()
		defer mu.Unlock()
		err = failed
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
