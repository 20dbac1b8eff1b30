package snowflake_test

import (
	"context"
	"testing"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/compat/snowflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// twitter is the configuration that Use accepts.
var twitter = sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter}

// create returns a sequencer of a store in memory, and its client.
func create(t testing.TB, cfg sequencer.Config) (*sequencer.Sequencer, *store.Client) {
	t.Helper()
	c, err := store.Open(t.Context(), store.NewMemory(), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s, err := c.CreateSequencer(t.Context(), "orders", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// use returns a node for a sequencer.
func use(t testing.TB, source snowflake.Source) *snowflake.Node {
	t.Helper()
	node, err := snowflake.Use(source)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

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
