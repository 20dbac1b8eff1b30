package grid_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestDirectoryThatIsKnown: a caller that has a member's directory is told so, and no more. One
// that has another, of another grid for instance, gets all of it.
func TestDirectoryThatIsKnown(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, nil), 2)
	ask := func(body string) map[string]any {
		t.Helper()
		res, out := b.request(http.MethodPost, wire.PathDirectory, map[string]string{"Content-Type": wire.JSON}, body)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", body, res.Status, out)
		}
		return out
	}
	var whole, same map[string]any
	var version int64
	for range 100 { // the version grows while the member begins
		whole = ask("{}")
		var err error
		if version, err = whole["version"].(json.Number).Int64(); err != nil {
			t.Fatal(err)
		}
		if same = ask(fmt.Sprintf(`{"known": {"grid": %q, "version": %d}}`, whole["grid"],
			version)); same["version"] == whole["version"] {
			break
		}
	}
	grid, members := whole["grid"], len(whole["members"].([]any))
	if members != 1 || len(whole["owners"].([]any)) == 0 || whole["same"] != nil {
		t.Fatalf("the whole directory: %v", whole)
	}
	if same["same"] != true || same["members"] != nil || same["owners"] != nil || same["grid"] != grid ||
		same["version"] != whole["version"] ||
		same["window"] != whole["window"] || same["time"] == nil {
		t.Errorf("one that is known: %v", same)
	}
	other := fmt.Sprint(grid)
	other = other[1:] + other[:1]
	for _, known := range []string{
		fmt.Sprintf(`{"known": {"grid": %q, "version": %d}}`, grid, version-1),
		fmt.Sprintf(`{"known": {"grid": %q, "version": %d}}`, grid, version+1000),
		fmt.Sprintf(`{"known": {"grid": %q, "version": %d}}`, other, version),
	} {
		if got := ask(known); got["same"] != nil || len(got["members"].([]any)) != members {
			t.Errorf("%s: %v", known, got)
		}
	}
}
