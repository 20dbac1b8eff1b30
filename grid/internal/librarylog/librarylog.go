// Package librarylog logs the messages of the libraries that a member runs, and warnings
// that others can cause, at a bounded rate.
package librarylog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Log logs messages from Raft, gossip and the HTTP server. Their errors become warnings, since the
// member continues: a mismatched certificate or key is reported nowhere else. Each kind of error is
// logged when it first appears, and then at most once per reportEvery. Gossip warnings are logged
// likewise at INFO; Raft's occur at every start and leader change, so they are for debugging.
type Log struct {
	log  *slog.Logger
	mono func() time.Duration

	mu      sync.Mutex // guards reports
	reports reports
}

// New returns a log of libraries that reads the monotonic clock by mono.
func New(log *slog.Logger, mono func() time.Duration) *Log {
	return &Log{log: log, mono: mono}
}

// Report logs an error or a warning of a library, unless one of its kind was logged
// a moment ago. Arguments are keys and values, as slog takes them.
func (l *Log) Report(level slog.Level, event, detail string, args ...any) {
	l.mu.Lock()
	omitted, admitted := l.reports.admit(level.String()+event+kindOf(fmt.Sprint(append([]any{detail}, args...)...)),
		l.mono())
	l.mu.Unlock()
	if !admitted {
		return
	}
	args = append([]any{"detail", detail}, args...)
	if omitted > 0 {
		args = append(args, "similar_omitted", omitted)
	}
	l.log.Log(context.Background(), level, event, args...) //nolint:sloglint // each caller has its constant event
}

// reportEvery is the minimum interval between logs of one kind of error.
const reportEvery = time.Minute

// reportKinds bounds the tracked kinds.
const reportKinds = 128

// reports decides which errors are logged. It has no clock: callers pass the time. The zero value is
// ready.
type reports struct{ kinds map[string]*reported }

// reported records the last log of a kind, and the number suppressed since.
type reported struct {
	at      time.Duration
	omitted int
}

// admit reports whether an error of a kind is logged at now, and how many of its kind
// were not since the last one.
func (r *reports) admit(kind string, now time.Duration) (omitted int, admitted bool) {
	if r.kinds == nil {
		r.kinds = map[string]*reported{}
	}
	known := r.kinds[kind]
	if known != nil && now-known.at < reportEvery {
		known.omitted++
		return 0, false
	}
	if known == nil {
		r.makeRoom()
		known = &reported{}
		r.kinds[kind] = known
	}
	omitted, known.at, known.omitted = known.omitted, now, 0
	return omitted, true
}

// makeRoom forgets the kind that was logged longest ago if there are too many.
func (r *reports) makeRoom() {
	if len(r.kinds) < reportKinds {
		return
	}
	oldest := ""
	for kind, known := range r.kinds {
		if oldest == "" || known.at < r.kinds[oldest].at {
			oldest = kind
		}
	}
	delete(r.kinds, oldest)
}

// kindOf removes an error text's variable parts: words with a digit, such as addresses, ports,
// identities, times and counts.
func kindOf(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

// Raft returns the logger that Raft is given.
func (l *Log) Raft() hclog.Logger {
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Output: io.Discard, Level: hclog.Info})
	logger.RegisterSink(l)
	return logger
}

// Accept implements hclog.SinkAdapter.
func (l *Log) Accept(_ string, level hclog.Level, detail string, args ...any) {
	args, closed := slices.Clone(args), false
	for i, arg := range args { // hclog has formats of its own
		if f, ok := arg.(hclog.Format); ok && len(f) > 0 {
			args[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
		if err, ok := arg.(error); ok {
			args[i], closed = err.Error(), closed || errors.Is(err, net.ErrClosed)
		}
	}
	switch {
	case level >= hclog.Error && !closed: // this member did not close it itself
		l.Report(slog.LevelWarn, "raft error reported", detail, args...)
	case level >= hclog.Info:
		l.log.Debug("raft message", append([]any{"detail", detail}, args...)...)
	}
}

// Writer returns a writer that takes one line of a library at a time, and its level
// from a prefix such as [ERR]; a line without one is a message.
func (l *Log) Writer(source string) io.Writer { return libraryLines{l, source} }

// Lines returns the logger that a library is given which writes lines.
func (l *Log) Lines(source string) *log.Logger { return log.New(l.Writer(source), "", 0) }

type libraryLines struct {
	to     *Log
	source string
}

func (w libraryLines) Write(p []byte) (int, error) {
	level, detail := cutLevel(strings.TrimSpace(string(p)))
	switch level {
	case slog.LevelWarn:
		w.to.Report(level, w.source+" error reported", detail)
	case slog.LevelInfo:
		w.to.Report(level, w.source+" warning reported", detail)
	default:
		w.to.log.Debug(w.source+" message", "detail", detail) //nolint:sloglint // each library has its constant message
	}
	return len(p), nil
}

// cutLevel returns the level at which a line is logged and the line without its prefix.
func cutLevel(line string) (slog.Level, string) {
	prefix, detail, found := strings.Cut(line, "]")
	before, prefix, opened := strings.Cut(prefix, "[")
	if !found || !opened || strings.ContainsFunc(before, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		return lineLevel(line), line
	}
	switch strings.TrimSpace(prefix) {
	case "ERR", "ERROR":
		return slog.LevelWarn, strings.TrimSpace(detail)
	case "WARN":
		return slog.LevelInfo, strings.TrimSpace(detail)
	}
	return slog.LevelDebug, strings.TrimSpace(detail)
}

// lineLevel is the level of a line without a prefix, of the HTTP server: handshakes
// that fail for more than a connection that ended are errors.
func lineLevel(line string) slog.Level {
	if strings.HasPrefix(line, "http: panic") || strings.Contains(line, "TLS handshake error") && IsTLS(errors.New(line)) {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// IsTLS reports whether an error is a mismatch of TLS certificates or protocols. Alerts from the peer
// have no exported type.
func IsTLS(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "tls: ") || strings.Contains(text, "x509: ")
}
