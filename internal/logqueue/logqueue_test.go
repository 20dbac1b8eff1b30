package logqueue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/logqueue"
)

// pipe is a sink that takes lines while it is open.
type pipe struct {
	open chan struct{} // closed when it takes lines

	mu  sync.Mutex
	out bytes.Buffer
}

func newPipe() *pipe { return &pipe{open: make(chan struct{})} }

// Write implements io.Writer.
func (p *pipe) Write(b []byte) (int, error) {
	<-p.open
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *pipe) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Split(strings.TrimSpace(p.out.String()), "\n")
}

// TestLinesAreWrittenWhenTheCallReturns: in order, without a goroutine that stays.
func TestLinesAreWrittenWhenTheCallReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe()
		close(p.open)
		log := logqueue.Logger(slog.New(slog.NewTextHandler(p, nil)))
		if logqueue.Logger(log) != log {
			t.Error("a logger is queued twice")
		}
		for i := range 100 {
			log.With("n", i).WithGroup("g").Info("line", "i", i)
			if lines := p.lines(); len(lines) != i+1 || !strings.Contains(lines[i], fmt.Sprintf("msg=line n=%d g.i=%d", i, i)) {
				t.Fatalf("%d lines after line %d: %q", len(lines), i, lines[len(lines)-1])
			}
		}
	})
}

// TestBlockedSink: callers wait once, lines beyond the bound are dropped and counted, and the others
// are written in order when the sink takes lines again.
func TestBlockedSink(t *testing.T) {
	for name, make := range map[string]func(*pipe) *slog.Logger{
		"handler": func(p *pipe) *slog.Logger { return logqueue.Logger(slog.New(slog.NewTextHandler(p, nil))) },
		"writer":  func(p *pipe) *slog.Logger { return slog.New(slog.NewTextHandler(logqueue.Writer(p), nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, before := newPipe(), logqueue.Dropped()
				log, began := make(p), time.Now()
				for i := range 2000 {
					log.Info("line", "i", i)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("2000 lines took %v", took)
				}
				if dropped := logqueue.Dropped() - before; dropped != 2000-1024 {
					t.Errorf("%d dropped", dropped)
				}
				close(p.open)
				synctest.Wait()
				lines := p.lines()
				if len(lines) != 1025 || !strings.Contains(lines[1023], "i=1023") || !strings.Contains(lines[1024],
					"log lines dropped: the log was not read") || !strings.Contains(lines[1024], "lines=976") {
					t.Fatalf("%d lines, the last: %q", len(lines), lines[max(0, len(lines)-2):])
				}
				log.Info("after")
				if lines := p.lines(); len(lines) != 1026 {
					t.Errorf("%d lines after another", len(lines))
				}
			})
		})
	}
}

// locked is a handler that answers nothing while it is closed.
type locked struct {
	slog.Handler
	open  *atomic.Pointer[chan struct{}]
	level *slog.LevelVar
}

func (l locked) Enabled(_ context.Context, level slog.Level) bool {
	<-*l.open.Load()
	return level >= l.level.Level()
}

// TestBlockedEnabled: a handler whose Enabled blocks is asked once, the last replies count meanwhile, and a
// change of its level counts when it answers again.
func TestBlockedEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := locked{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}), &atomic.Pointer[chan struct{}]{},
			&slog.LevelVar{}}
		open, shut := make(chan struct{}), make(chan struct{})
		close(open)
		l.open.Store(&open)
		log, lines := logqueue.Logger(slog.New(l)), func() int { return strings.Count(out.String(), "\n") }
		log.Info("written")
		log.Debug("not enabled")
		if n := lines(); n != 1 {
			t.Errorf("%d lines, want 1: %s", n, out.String())
		}
		l.open.Store(&shut)
		began := time.Now()
		for range 100 {
			log.Info("queued")
			log.Debug("not enabled")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("200 lines took %v", took)
		}
		l.level.Set(slog.LevelDebug)
		close(shut)
		synctest.Wait()
		if n := lines(); n != 101 {
			t.Errorf("%d lines, want 101: %s", n, out.String())
		}
		log.Debug("enabled now")
		if n := lines(); n != 102 {
			t.Errorf("%d lines, want 102: %s", n, out.String())
		}
	})
}

// TestLevelWithoutAReply: a handler whose Enabled has never answered gets no line of a level that it turns out not to
// have.
func TestLevelWithoutAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := locked{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}), &atomic.Pointer[chan struct{}]{},
			&slog.LevelVar{}}
		shut := make(chan struct{})
		l.open.Store(&shut)
		log := logqueue.Logger(slog.New(l))
		log.Debug("not enabled")
		log.Info("written")
		close(shut)
		synctest.Wait()
		if got := out.String(); strings.Contains(got, "not enabled") || !strings.Contains(got, "written") {
			t.Errorf("lines: %s", got)
		}
	})
}

// failing is a sink whose writes fail.
type failing struct{}

var errFull = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriterReturnsErrors(t *testing.T) {
	if _, err := logqueue.Writer(failing{}).Write([]byte("line\n")); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// again is a handler that logs to its own logger.
type again struct {
	slog.Handler
	log *slog.Logger
}

func (a *again) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "first" {
		a.log.Info("second")
	}
	return a.Handler.Handle(ctx, r)
}

// TestHandlerThatLogs: a handler that logs to its own logger does not deadlock.
func TestHandlerThatLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &again{Handler: slog.NewTextHandler(&out, nil)}
		a.log = logqueue.Logger(slog.New(a))
		a.log.Info("first")
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 2 {
			t.Errorf("%d lines: %s", n, out.String())
		}
	})
}

// TestFlush: the last line of a process is written before it ends if that takes less than the limit.
func TestFlush(t *testing.T) {
	for _, c := range []struct{ slow, want time.Duration }{{300 * time.Millisecond, 300 * time.Millisecond},
		{time.Hour, 1100 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			w := logqueue.Writer(writerFunc(func(p []byte) (int, error) { time.Sleep(c.slow); return len(p), nil }))
			_, _ = w.Write([]byte("the last line"))
			logqueue.Flush(w, time.Second)
			if took := time.Since(began); took != c.want {
				t.Errorf("a line that takes %v: %v", c.slow, took)
			}
			logqueue.Flush(io.Discard, time.Second)
			time.Sleep(c.slow)
		})
	}
}

type writerFunc func(p []byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
