package grid_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestReportsOfUseAreBounded: a holder's report counts for sequencers that exist alone, up to
// the bounds of a call, and a report that nothing can be believed of does not fail the renewal.
func TestReportsOfUseAreBounded(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	if _, err := m.CreateSequencer(testContext(t), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, m, 1)
	renew := func(used string) {
		t.Helper()
		res, answer := b.request(http.MethodPost, wire.PathRenew, map[string]string{"Content-Type": wire.JSON},
			`{"holder":"liar","used":[`+used+`]}`)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("the renewal was answered %d %v", res.StatusCode, answer)
		}
	}
	many := ""
	for i := range wire.MaxUsed {
		many += fmt.Sprintf(`{"name":"invented-%d","ids":7},`, i)
	}
	renew(many + `{"name":"orders","ids":5}`) // the last one is too many
	renew(`{"name":"orders","ids":18446744073709551615},{"name":"","ids":3},{"name":"orders","ids":0,"waits":2}`)
	deadline := time.Now().Add(10 * time.Second)
	for m.Stats().Holders.Waits == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // reports wait for the partition's goroutine, and their answer does not
	}
	got := m.Stats().Holders
	if want := "[{orders 1099511627776 2}]"; fmt.Sprint(got.Sequencers) != want || got.IDs != 1<<40 {
		t.Errorf("counted %v, %d in all; want %s", got.Sequencers, got.IDs, want)
	}
	if s := m.Status().Sequencers; len(s) != 1 || s[0].IDs != 1<<40 || s[0].Waits != 2 {
		t.Errorf("the status has %+v", s)
	}
}
