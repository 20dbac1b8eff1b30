package grid_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestAlertsOfManySequencers: the status lists a part of a member's sequencers, and has every one with an alert.
func TestAlertsOfManySequencers(t *testing.T) {
	t.Parallel()
	m := startOne(t, func(c *grid.Config) { c.DataDir, c.Partitions, c.FirstLife = "", 1, true })
	add := func(name string, cfg sequencer.Config) {
		t.Helper()
		if _, err := m.CreateSequencer(t.Context(), name, cfg); err != nil {
			t.Fatal(err)
		}
	}
	for i := range grid.MaxStatusSequencers {
		add(fmt.Sprintf("a%04d", i), sequencer.Config{})
	}
	add("full", sequencer.Config{NodeRange: sequencer.NodeRange{Lo: 7, Hi: 7}})
	add("old", sequencer.Config{Epoch: epoch.At(time.Now().AddDate(-34, 0, 0))})
	s := m.Status()
	if n := len(s.Sequencers); n != grid.MaxStatusSequencers || !slices.IsSortedFunc(s.Sequencers,
		func(a, b grid.SequencerInfo) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the status lists %d sequencers: %+v", n, s.Sequencers)
	}
	texts := map[string]string{}
	for _, a := range grid.Alerts(s) {
		texts[a.Name] = a.Text
	}
	if !strings.Contains(texts["nodes_used"], `"full" has 1 of 1 attached`) ||
		!strings.Contains(texts["epoch_ends"], `"old" on `) {
		t.Errorf("the alerts are %q", texts)
	}
}
