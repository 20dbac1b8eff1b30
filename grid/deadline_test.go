package grid_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// createWithin asks for a create by a caller that waits for so many milliseconds, and returns
// the answer's status. Its own context lasts longer.
func createWithin(t *testing.T, m *grid.Member, name, ms string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	body := strings.NewReader(`{"name":"` + name + `","epoch":1767225600000}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.Addrs().API+wire.PathCreate, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.JSON)
	req.Header.Set(wire.HeaderTimeout, ms)
	res, err := newBrowser(t, m, 2).client.Do(req)
	if err != nil {
		t.Errorf("%s ms: %v", ms, err)
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestExpiredWorkIsDropped: a request whose caller says that it waits for 50 ms is answered
// then, although its partition is busy, and is not begun when its turn comes.
func TestExpiredWorkIsDropped(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	release := m.Stall("late")
	status := createWithin(t, m, "late", "50")
	release()
	if status != http.StatusServiceUnavailable {
		t.Errorf("the answer of a busy partition is %d", status)
	}
	if _, err := m.OpenSequencer(testContext(t), "late"); err == nil ||
		!strings.Contains(err.Error(), sequencer.ErrNotFound.Error()) {
		t.Errorf("what no caller waits for was done all the same: %v", err)
	}
	if status := createWithin(t, m, "late", "60000"); status != http.StatusOK {
		t.Errorf("the answer in time is %d", status)
	}
}

// TestTimeoutHeader: any other value than a number of milliseconds is refused.
func TestTimeoutHeader(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for _, ms := range []string{"0", "-1", "1.5", "x", "1s", strings.Repeat("9", 30)} {
		if status := createWithin(t, m, "n", ms); status != http.StatusBadRequest {
			t.Errorf("%q: status %d, want %d", ms, status, http.StatusBadRequest)
		}
	}
}
