package partition

import (
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestReasonToWaitForHolders: while an owner learns after a loss, its answer has the same reason as the status.
func TestReasonToWaitForHolders(t *testing.T) {
	const window = 3 * time.Second
	now := clustertime.Tick(1000)
	for name, c := range map[string]struct {
		recovered *roster.Recovery
		wait      time.Duration
		want      string
	}{
		"recovered":       {&roster.Recovery{}, 10 * time.Minute, "(in 10m0s): the grid was recovered from some of its data"},
		"long since":      {&roster.Recovery{}, window, "(in 3s): a grid without data directories begins"},
		"above the floor": {nil, time.Minute, "(in 1m0s): the grid begins above the configured floor"},
		"just started":    {nil, window, "(in 3s): a grid without data directories begins"},
	} {
		l := learner{table: &Table{}, loss: loss{floor: now.Add(clustertime.SpanOf(c.wait))}}
		r := &roster.Roster{Recovered: c.recovered, Ceiling: l.loss.floor}
		r.Settings.Window = clustertime.SpanOf(window)
		if text := l.waitsForHolders(View{Roster: r, Time: now}); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %q", name, text, c.want)
		}
	}
}
