package formation

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestIdentityKeepsTheNumber: over other saves; and a version that does not know of numbers
// reads the rest of the file.
func TestIdentityKeepsTheNumber(t *testing.T) {
	dir, path, id := newIdentity(t)
	f := &Formation{deps: &deps{cfg: Config{DataDir: dir, Identity: id}}, bindings: &bindings{id: id}}
	n := identity.Number{Cluster: "shop", Set: "ids", ID: 3, Code: numbers.Code{7}}
	if err := f.Numbers().StoreApplication(n); err != nil {
		t.Fatal(err)
	}
	if err := f.Numbers().StoreNumber(n); err != nil {
		t.Fatal(err)
	}
	id.Forming = false
	if err := id.Save(); err != nil {
		t.Fatal(err)
	}
	files, err := ReadNumber(dir)
	if err != nil || files.Number == nil || *files.Number != n || files.Application == nil || *files.Application != n {
		t.Errorf("read %+v, %v", files, err)
	}
	if err := f.Numbers().RemoveApplication(); err != nil {
		t.Fatal(err)
	}
	if files, err = ReadNumber(dir); err != nil || files.Application != nil {
		t.Errorf("read %+v, %v", files, err)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var before struct { // the file of protocol 1
		Content struct {
			Format   int             `json:"format"`
			Member   roster.MemberID `json:"member"`
			Grid     roster.GridID   `json:"grid"`
			Log      string          `json:"log,omitempty"`
			Accepted Attempt         `json:"accepted"`
		} `json:"content"`
	}
	if err := json.Unmarshal(data, &before); err != nil || before.Content.Format != 1 ||
		before.Content.Member != id.Member || before.Content.Grid != id.Grid {
		t.Errorf("read as protocol 1: %+v, %v", before, err)
	}
}
