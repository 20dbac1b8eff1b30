package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// fakeHandle issues IDs of one node, one a millisecond, until it has issued
// limit; then it fails with err, after a wait.
type fakeHandle struct {
	definition sequencer.Definition
	node       sequencer.NodeID
	issued     int
	limit      int
	wait       time.Duration
	err        error
}

func (h *fakeHandle) Definition() sequencer.Definition { return h.definition }

func (h *fakeHandle) Next(ctx context.Context) (sequencer.ID, error) {
	if h.issued == h.limit {
		select {
		case <-time.After(h.wait):
			return 0, h.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	h.issued++
	at := h.definition.Config().Epoch.Time().Add(time.Duration(h.issued) * time.Millisecond)
	return h.definition.Compose(sequencer.Parts{Time: at, Node: h.node})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := []struct {
		name       string
		handles    []*fakeHandle
		ending     string // holder that may end
		wantErr    error
		duplicates bool
	}{
		{name: "runs until the end", handles: []*fakeHandle{{node: 1, limit: -1}, {node: 2, limit: -1}}},
		{name: "a duplicate", handles: []*fakeHandle{{node: 1, limit: -1}, {node: 1, limit: -1}}, duplicates: true},
		{name: "a holder that was killed", handles: []*fakeHandle{{limit: 10, err: sequencer.ErrClosed}}, ending: "holder"},
		{name: "a holder that closed by itself", handles: []*fakeHandle{{limit: 10, err: sequencer.ErrClosed}},
			wantErr: sequencer.ErrClosed},
		{name: "an error", handles: []*fakeHandle{{limit: 10, err: broken}}, ending: "holder", wantErr: broken},
		{name: "the end cuts a wait short", handles: []*fakeHandle{{limit: 10, wait: time.Hour, err: broken}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFlow()
				for _, h := range test.handles {
					h.definition = define(t, "orders")
					f.add("holder", h)
				}
				f.expectEnd(test.ending)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				f.run(ctx)
				if err := f.wait(); !errors.Is(err, test.wantErr) {
					t.Errorf("error %v, want %v", err, test.wantErr)
				}
				if v := f.checker.verdict(); v.ids == 0 || v.clean() == test.duplicates {
					t.Errorf("%d IDs, duplicates %d, want some: %v", v.ids, v.duplicates, test.duplicates)
				}
			})
		})
	}
}

func TestFlowSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlow()
		if got := f.summary(verdict{}); got != "No IDs were issued." {
			t.Errorf("before the run: %q", got)
		}
		f.add("holder", &fakeHandle{definition: define(t, "orders"), limit: 100, wait: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		f.run(ctx)
		if err := f.wait(); err != nil {
			t.Fatal(err)
		}
		want := "100 IDs in 4.0s (25 per second), 0 duplicates, 0 out of order, longest Next call 4s."
		if got := f.summary(f.checker.verdict()); got != want {
			t.Errorf("summary\n%q, want\n%q", got, want)
		}
		if got := f.examples(); len(got) != 1 || !strings.HasPrefix(got[0], "An ID of orders: ") ||
			!strings.Contains(got[0], " of 8192 (holder), counter ") {
			t.Errorf("examples %q", got)
		}
		if got := f.aboutLongest(); !strings.Contains(got, "new owner") {
			t.Errorf("the call of 4 s: %q", got)
		}
	})
}

func TestGrouped(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 100000: "100,000"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestNarrowScreen: on a terminal sentences break between words, and the line with the counts never wraps: a line that
// wrapped would stay, one for each look.
func TestNarrowScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		f := newFlow()
		f.began = time.Now()
		s := &screen{out: &out, live: true, width: func() int { return 20 }}
		s.say("Each has its own logical node in each sequencer.")
		s.follow(t.Context(), f, time.Second)
		plain := regexp.MustCompile("\x1b\\[[0-9]*[Km]").ReplaceAllString(out.String(), "")
		if want := "Each has its own\nlogical node in each\nsequencer.\n"; !strings.Contains(plain, want) {
			t.Errorf("want %q in %q", want, plain)
		}
		for line := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if len(line) > 20 || strings.Contains(line, " IDs") && len(line) > 19 {
				t.Errorf("%d columns: %q", len(line), line)
			}
		}
	})
}

func TestPlainScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		f := newFlow()
		f.began = time.Now()
		s := newScreen(&out, false) // not a terminal
		s.say("A sentence.")
		s.follow(t.Context(), f, 2500*time.Millisecond)
		if got := out.String(); strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 4 {
			t.Errorf("want a sentence and three lines without control characters, got %q", got)
		}
	})
}
