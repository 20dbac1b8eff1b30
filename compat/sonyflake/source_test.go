package sonyflake_test

import (
	"context"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/compat/sonyflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// start is the default start time of sonyflake v2.
var start = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// year is 365 days.
const year = 365 * 24 * time.Hour

// create returns a sequencer of a store in memory with sonyflake's start time, and its client.
func create(t testing.TB) (*sequencer.Sequencer, *store.Client) {
	t.Helper()
	c, err := store.Open(t.Context(), store.NewMemory(), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{Epoch: epoch.At(start)})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func mustNew(t testing.TB, st sonyflake.Settings) *sonyflake.Sonyflake {
	t.Helper()
	sf, err := sonyflake.New(st)
	if err != nil {
		t.Fatal(err)
	}
	return sf
}

// of returns a source with the default layout and the given epoch.
func of(e epoch.Epoch) fixed { return fixed{cfg: sequencer.Config{Epoch: e}} }

// fixed is a source that always returns the same.
type fixed struct {
	cfg sequencer.Config
	id  sequencer.ID
	err error
}

func (f fixed) Next(context.Context) (sequencer.ID, error) { return f.id, f.err }

func (f fixed) Definition() sequencer.Definition {
	d, err := sequencer.Define("fixed", f.cfg)
	if err != nil {
		panic(err)
	}
	return d
}
