package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRecordsAheadAreTrouble: a record that was granted far ahead by a process whose clock was
// wrong is shown, since no process takes it before that time.
func TestRecordsAheadAreTrouble(t *testing.T) {
	now := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
	at := momentsAt(now, 15*time.Second)
	in := func(d time.Duration) clustertime.Tick { return clustertime.TickOf(now.Add(d)) }
	for what, tc := range map[string]struct {
		r       record.Record
		trouble bool
	}{
		"free, an hour ahead": {record.Record{State: record.Free, Version: 3, Bound: in(time.Hour)}, true},
		"held, an hour ahead": {record.Record{State: record.Held, Version: 3, Timestamp: in(time.Hour),
			Bound: in(time.Hour)}, true},
		"retired, an hour ahead": {record.Record{State: record.Retired, Version: 3, Bound: in(time.Hour)}, true},
		"closed, an hour ahead":  {record.Record{State: record.Closed, Version: 3, Bound: in(time.Hour)}, false},
		"held": {record.Record{State: record.Held, Version: 3, Timestamp: in(15 * time.Second),
			Bound: in(15 * time.Second)}, false},
		"free": {record.Record{State: record.Free, Version: 3, Bound: in(-time.Hour)}, false},
	} {
		if got := describe(7, tc.r, at); (got.Trouble != "") != tc.trouble {
			t.Errorf("%s: trouble %q", what, got.Trouble)
		}
	}
	if got := describe(7, record.Record{State: record.Held, Timestamp: in(90 * time.Minute)},
		momentsAt(now, time.Hour)); got.Trouble != "" {
		t.Errorf("with a window of an hour: %q", got.Trouble)
	}
}

// TestStatusWritesNothing: the status of a store in a directory needs no right to write there, and no room.
func TestStatusWritesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := store.OpenFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := store.Open(t.Context(), s, store.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	_ = c.Leave(t.Context())
	own := []string{filepath.Join(dir, ".locks"), filepath.Join(dir, ".temp")} // a start to write makes them
	for _, path := range own {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := command(t, "status", "--store", "file:"+dir)
	if code != exitDone || !strings.Contains(out, "sequencer orders: alive") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for _, path := range own {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("the status has made %s", path)
		}
	}
}

// TestStatusOfSQLiteWritesNothing: the status of a file that no process has open makes no file beside it.
func TestStatusOfSQLiteWritesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ids.db")
	p := start(t, "--store", "sqlite:"+file)
	p.ready()
	shows := func(when string) {
		code, out, errs := command(t, "status", "--store", "sqlite:"+file)
		if code != exitDone || !strings.Contains(out, "sequencer default: alive") {
			t.Errorf("%s: %d %s %s", when, code, out, errs)
		}
	}
	shows("while it is open")
	p.stop()
	before := time.Unix(1_000_000_000, 0) // a directory has the time of the last change of its names
	if err := os.Chtimes(dir, before, before); err != nil {
		t.Fatal(err)
	}
	shows("after that")
	if info, err := os.Stat(dir); err != nil || !info.ModTime().Equal(before) {
		t.Errorf("the status has made files: %v, %v", info.ModTime(), err)
	}
}
