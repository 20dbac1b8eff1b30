package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// asText writes IDs one per line.
func asText(w io.Writer) idWriter { return (&nextCommand{}).writer(w) }

func TestNextJSONIsOneObject(t *testing.T) {
	type document struct {
		Sequencer string         `json:"sequencer"`
		IDs       []sequencer.ID `json:"ids"`
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		ctx   context.Context
		from  *counting
		count int64
		want  int
	}{{t.Context(), &counting{limit: -1}, 10_000, 10_000}, {t.Context(), &counting{limit: 2, err: errors.New("broken")},
		5, 2}, {cancelled, &counting{limit: -1}, 5, 0}} {
		var out strings.Builder
		next := &nextCommand{Name: `or"ders`, outputFlag: outputFlag{Output: "json"}}
		if printed, _ := printIDs(test.ctx, next.writer(&out), test.from, test.count); printed != int64(test.want) {
			t.Errorf("%d IDs were printed, want %d", printed, test.want)
		}
		var got document
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil || got.Sequencer != next.Name ||
			len(got.IDs) != test.want {
			t.Errorf("sequencer %q with %d IDs, want %d: %v", got.Sequencer, len(got.IDs), test.want, err)
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	status, stdout, stderr := runCommand(t, "decode", "235067008364840960", "-o", "json")
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); status != exitDone || err != nil {
		t.Fatalf("status %d, stderr %q, error %v", status, stderr, err)
	}
	for field, want := range map[string]any{"id": "235067008364840960", "node": 0.0, "nodes": 8192.0, "counter": 0.0,
		"layout": "63/23/8192", "epoch": "2026-01-01T00:00:00Z"} {
		if _, isNumber := got[field].(float64); field == "node" && isNumber || field == "counter" && isNumber {
			continue
		}
		if !reflect.DeepEqual(got[field], want) {
			t.Errorf("%s is %v, want %v", field, got[field], want)
		}
	}
	if at, err := time.Parse(time.RFC3339, got["time"].(string)); err != nil || at.Year() < 2026 {
		t.Errorf("time %v, %v", got["time"], err)
	}
}

// TestExitStatusOfUnreachableGrid: a command that only asks ends with 3 when no member
// answers, one that changes something with 1.
func TestExitStatusOfUnreachableGrid(t *testing.T) {
	const nowhere = " --addr 127.0.0.1:1,127.0.0.1:2 --timeout 2s"
	for command, want := range map[string]int{
		"status": exitUnreachable, "forget 0000000000000001": exitFailed, "take-anchor": exitFailed,
		"status -o json": exitUnreachable,
	} {
		status, stdout, said := runCommand(t, strings.Fields(command+nowhere)...)
		if status != want || stdout != "" || !strings.Contains(said,
			"no member answers at 127.0.0.1:1 (connection refused), 127.0.0.1:2 (connection refused); check --addr") {
			t.Errorf("%s: status %d, want %d; stdout %q, said %q", command, status, want, stdout, said)
		}
	}
}

func TestTimesAreAbsoluteAndRelative(t *testing.T) {
	now := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{
		13500 * time.Millisecond: "2026-07-01T12:00:13.500Z (in 13.5s)",
		-250 * time.Millisecond:  "2026-07-01T11:59:59.750Z (250ms ago)",
		-90 * time.Minute:        "2026-07-01T10:30:00.000Z (1h30m0s ago)",
		72 * time.Hour:           "2026-07-04T12:00:00.000Z (in 3 days)",
	} {
		if got := momentAndDistance(now.Add(after), now); got != want {
			t.Errorf("%v: %q, want %q", after, got, want)
		}
	}
	if got := momentAndDistance(time.Time{}, now); got != "-" {
		t.Errorf("no time is %q", got)
	}
}
