package grid_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestStatusHasEveryReport: the status of the whole grid has each member's description of
// itself, and that of one member its own.
func TestStatusHasEveryReport(t *testing.T) {
	t.Parallel()
	members := startGrid(t, 2, nil)
	within(t, apiPatience, "the leader has counted the voters", func() bool { return members[0].Status().Voters > 0 })
	var whole grid.Status
	within(t, apiPatience, "every member answers", func() bool {
		res, err := http.Get("http://" + members[0].Addrs().API + wire.PathStatus)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		whole = grid.Status{}
		if err := json.NewDecoder(res.Body).Decode(&whole); err != nil {
			t.Fatal(err)
		}
		return len(whole.Unreachable) == 0
	})
	for _, m := range whole.Members {
		if m.Report == nil {
			t.Errorf("the status lacks the report of %s", m.Incarnation)
		}
	}
	if whole.Voters == 0 || whole.VotersAlive != whole.Voters {
		t.Errorf("%d of %d voters are alive", whole.VotersAlive, whole.Voters)
	}
	reports := 0
	for _, m := range members[1].Status().Members {
		if m.Report != nil {
			reports++
		}
	}
	if reports != 1 {
		t.Errorf("the status of one member has %d reports", reports)
	}
}
