package formation

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/snowgrid/snowgrid/internal/registration"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestIdentityKeepsTheNumber: over other saves; and a version that does not know of numbers
// reads the rest of the file.
func TestIdentityKeepsTheNumber(t *testing.T) {
	dir, path, id := newIdentity(t)
	f := &Formation{deps: &deps{cfg: Config{DataDir: dir, Identity: id}}, bindings: &bindings{id: id}}
	n := registration.Number{Cluster: "shop", Set: "ids", ID: 3, Code: roster.Code{7}}
	if err := f.Numbers().WriteTemp(n); err != nil {
		t.Fatal(err)
	}
	if err := f.Numbers().WriteFinal(n); err != nil {
		t.Fatal(err)
	}
	id.Forming = false
	if err := id.Save(); err != nil {
		t.Fatal(err)
	}
	files, err := ReadNumber(dir)
	if err != nil || files.Final == nil || *files.Final != n || files.Temp == nil || *files.Temp != n {
		t.Errorf("read %+v, %v", files, err)
	}
	if err := f.Numbers().RemoveTemp(); err != nil {
		t.Fatal(err)
	}
	if files, err = ReadNumber(dir); err != nil || files.Temp != nil {
		t.Errorf("read %+v, %v", files, err)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var before struct { // the file of protocol 1
		Identity struct {
			Format   int             `json:"format"`
			Member   roster.MemberID `json:"member"`
			Grid     roster.GridID   `json:"grid"`
			Log      string          `json:"log,omitempty"`
			Accepted Attempt         `json:"accepted"`
		} `json:"identity"`
	}
	if err := json.Unmarshal(data, &before); err != nil || before.Identity.Format != 1 ||
		before.Identity.Member != id.Member || before.Identity.Grid != id.Grid {
		t.Errorf("read as protocol 1: %+v, %v", before, err)
	}
}
