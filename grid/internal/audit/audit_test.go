package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// recorder collects the lines of a log as JSON.
type recorder struct {
	text strings.Builder
	now  time.Duration
}

func (r *recorder) log() *Log {
	return New(slog.New(slog.NewJSONHandler(&r.text, nil)), func() time.Duration { return r.now })
}

// lines returns the lines since the last call, without their times.
func (r *recorder) lines(t *testing.T) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(r.text.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "time")
		out = append(out, fields)
	}
	r.text.Reset()
	return out
}

func TestLineHasActionNameCallerAndResult(t *testing.T) {
	var r recorder
	l := r.log()
	for _, test := range []struct {
		entry  Entry
		result string
	}{
		{Entry{Destroy, "orders", "10.0.0.7:51324 CN=ops", nil}, "ok"},
		{Entry{Create, "orders", "10.0.0.7:1", fmt.Errorf("x: %w", sequencer.ErrConflict)}, "denied"},
		{Entry{Init, "m1", "10.0.0.7:2", wire.ErrNotConfirmed}, "denied"},
		{Entry{Forget, "m1", "10.0.0.7:3", fmt.Errorf("x: %w", sequencer.ErrUnavailable)}, "failed"},
		{Entry{Forget, "m2", "10.0.0.7:4", context.DeadlineExceeded}, "failed"},
		{Entry{Create, "", "10.0.0.7:5", sequencer.ErrInvalidConfig}, "denied"},
	} {
		l.Write(test.entry)
		want := map[string]any{"level": "INFO", "msg": "audit", "action": test.entry.Action, "name": test.entry.Name,
			"who": test.entry.Who, "result": test.result}
		if test.entry.Err != nil {
			want["error"] = test.entry.Err.Error()
		}
		if got := r.lines(t); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%+v\nis written as %v\nwant %v", test.entry, got, want)
		}
	}
	l.Write(Entry{Action: Create, Name: strings.Repeat("x", 1<<20)}, slog.Int("nodes", 64))
	if got := r.lines(t); len(got) != 1 || len(got[0]["name"].(string)) != textMax || got[0]["nodes"] != 64.0 {
		t.Error("a long name is not cut off, or further attributes are missing")
	}
	(*Log)(nil).Write(Entry{Action: Create})
}

// TestOtherMembersDecide: a request that this member does not decide on is not written.
func TestOtherMembersDecide(t *testing.T) {
	var r recorder
	l := r.log()
	for _, err := range []error{roster.ErrWrongOwner, wire.ErrNotAddressed, refusal.ErrNotLeader} {
		l.Write(Entry{Create, "orders", "a", fmt.Errorf("x: %w", err)})
	}
	if got := r.lines(t); len(got) > 0 {
		t.Errorf("written: %v", got)
	}
}

// TestRetriesAreOneAction: a failure or a denial that a program repeats is written once; a
// refusal each time.
func TestRetriesAreOneAction(t *testing.T) {
	var r recorder
	l := r.log()
	failed, denied := sequencer.ErrUnavailable, sequencer.ErrNotFound
	for range 100 {
		l.Write(Entry{Create, "orders", "a", failed})
		l.Write(Entry{Forget, "m1", "a", failed})
		l.Write(Entry{Join, "m1", "b", wire.ErrIdentityInUse})
		r.now += time.Second
	}
	if got := r.lines(t); len(got) != 2 { // of forget and join: no member has decided on the create
		t.Errorf("%d lines, want 2", len(got))
	}
	for range 10 {
		l.Write(Entry{Destroy, "orders", "a", denied})
	}
	for range 10 {
		l.Write(Entry{Destroy, "orders", "a", security.ErrDenied})
		l.Write(Entry{Destroy, "orders", "a", security.ErrUnauthenticated})
	}
	l.Write(Entry{Destroy, "bills", "a", security.ErrDenied})
	if got := r.lines(t); len(got) != 13 {
		t.Errorf("%d lines, want 10 of unknown paths, and 3 of 2 denials", len(got))
	}
	r.now += repeatAfter
	l.Write(Entry{Forget, "m1", "a", failed})
	if got := r.lines(t); len(got) != 1 {
		t.Errorf("%d lines, want 1", len(got))
	}
	for i := range 3 * repeatsMax {
		l.Write(Entry{Forget, fmt.Sprint(i), "a", failed})
	}
	if len(l.recent) > repeatsMax {
		t.Errorf("%d failures are remembered", len(l.recent))
	}
}

// TestRefusalsAreBounded: a flood of refusals fills no log, omitted lines are counted,
// and actions that are done are always written.
func TestRefusalsAreBounded(t *testing.T) {
	var r recorder
	l := r.log()
	for range 10 * refusalBurst {
		l.Write(Entry{Destroy, "orders", "a", errors.Join(sequencer.ErrNotFound)})
		l.Write(Entry{Destroy, "orders", "b", nil})
	}
	if got := r.lines(t); len(got) != 11*refusalBurst {
		t.Errorf("%d lines, want %d", len(got), 11*refusalBurst)
	}
	l.Write(Entry{Remove, "m1", "c", wire.ErrNotNow})
	if got := r.lines(t); len(got) != 1 {
		t.Errorf("%d lines of another action, want 1", len(got))
	}
	r.now += time.Second
	l.Write(Entry{Destroy, "orders", "a", sequencer.ErrNotFound})
	if got := r.lines(t); len(got) != 1 || got[0]["omitted"] != float64(9*refusalBurst) {
		t.Errorf("a second later: %v, want omitted %d", got, 9*refusalBurst)
	}
}
