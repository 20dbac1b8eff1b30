// Package audit writes a line of the log for each action that changes a grid: a sequencer
// that is created or destroyed, a member that joins, leaves or is removed, an operator's
// command. The member that decides writes it, once for each action, also if it refuses. A call
// that its caller may not make is such an action too, whatever it asks for; its action is that
// of package security.
//
//	msg=audit action=destroy name=orders who=10.0.0.7:51324 result=ok
//	msg=audit action=forget name=9f3c5a7de1b20468 who="10.0.0.7:51330 \"ops\" (cert:51f0, role admin)" result=denied error="..."
package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The actions.
const (
	Create     = "create"
	Destroy    = "destroy"
	Init       = "init"
	Recover    = "recover"
	Forget     = "forget"
	TakeAnchor = "take-anchor"
	Join       = "join"
	Leave      = "leave"
	Remove     = "remove"
	Settings   = "settings"
	Keyring    = "keyring"

	Subscribe   = "subscribe"
	Unsubscribe = "unsubscribe"

	ApplyNumber    = "identity-apply"
	RegisterNumber = "identity-register"
	DropSet        = "identity-drop"
	CleanNumbers   = "identity-clean"
	ImportNumbers  = "identity-import"
)

// Message is the message of every line.
const Message = "audit"

const (
	textMax = 255 // bytes of a name or a caller

	// Refusal lines are bounded, since any process that reaches a member can cause them: per action, refusalBurst
	// at a time, then refusalRate per second. So a flood of one action hides no other.
	refusalBurst = 200
	refusalRate  = 50

	// repeatAfter is the time for which a repeated failure or denial of one caller counts as one action: its
	// program retries.
	repeatAfter = time.Minute
	repeatsMax  = 1024 // failures that are remembered
)

// Log writes the lines. Its methods may be called on nil, which writes none.
type Log struct {
	log  *slog.Logger
	mono func() time.Duration

	mu       sync.Mutex               // guards the fields below
	refusals map[string]*refusals     // by action
	recent   map[string]time.Duration // failures that may be retried, by text
}

// refusals bounds the lines of refusals of one action.
type refusals struct {
	lines   *rate.Limiter
	omitted int
}

// New returns a log that reads the monotonic clock by mono.
func New(log *slog.Logger, mono func() time.Duration) *Log {
	return &Log{log: log, mono: mono, refusals: map[string]*refusals{}, recent: map[string]time.Duration{}}
}

// Entry is one action.
type Entry struct {
	Action string
	Name   string // of the sequencer, or the member, or the setting
	Who    string // address of the caller, and the subject of its certificate if it has one
	Err    error  // why it was not done; nil if it was
}

// Write writes the line of an action, unless this member has not decided on it.
func (l *Log) Write(e Entry, more ...slog.Attr) {
	if l == nil || undecided(e) {
		return
	}
	attrs := []slog.Attr{
		slog.String("action", e.Action), slog.String("name", bounded(e.Name)), slog.String("who", bounded(e.Who)),
		slog.String("result", result(e.Err)),
	}
	if e.Err != nil {
		omitted, admitted := l.admit(e)
		if !admitted {
			return
		}
		attrs = append(attrs, slog.String("error", e.Err.Error()))
		if omitted > 0 {
			attrs = append(attrs, slog.Int("omitted", omitted))
		}
	}
	l.log.LogAttrs(context.Background(), slog.LevelInfo, Message, append(attrs, more...)...)
}

// undecided reports whether another member decides on an action, or no member yet: programs
// repeat a create and a destroy by themselves until a member decides.
func undecided(e Entry) bool {
	if errors.Is(e.Err, roster.ErrWrongOwner) || errors.Is(e.Err, wire.ErrNotAddressed) ||
		errors.Is(e.Err, refusal.ErrNotLeader) {
		return true
	}
	return (e.Action == Create || e.Action == Destroy) && e.Err != nil && result(e.Err) == "failed"
}

// result returns an action's result: ok, denied if a retry would fail in the same way, or failed.
func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case wire.ErrorOf(err, 0).Code == "unavailable", errors.Is(err, sequencer.ErrClosed):
		return "failed"
	}
	return "denied"
}

// admit reports whether a line about an action that was not done may be written, and how
// many were left out before it.
func (l *Log) admit(e Entry) (omitted int, admitted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.mono()
	if e.Action == Join || result(e.Err) == "failed" ||
		errors.Is(e.Err, security.ErrDenied) || errors.Is(e.Err, security.ErrUnauthenticated) {
		key := e.Action + "\x00" + e.Name + "\x00" + e.Who + "\x00" + wire.ErrorOf(e.Err, 0).Code
		if last, known := l.recent[key]; known && now-last < repeatAfter {
			l.recent[key] = now // a program that retries without end stays one action
			return 0, false
		}
		if len(l.recent) >= repeatsMax {
			clear(l.recent)
		}
		l.recent[key] = now
	}
	r := l.refusals[e.Action]
	if r == nil {
		r = &refusals{lines: rate.NewLimiter(refusalRate, refusalBurst)}
		l.refusals[e.Action] = r
	}
	if !r.lines.AllowN(time.Time{}.Add(now), 1) {
		r.omitted++
		return 0, false
	}
	omitted, r.omitted = r.omitted, 0
	return omitted, true
}

// bounded cuts off a text that a caller stated.
func bounded(text string) string { return text[:min(len(text), textMax)] }
