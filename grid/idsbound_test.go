package grid_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestAPIIDsKeepsBoundedHandles asks for IDs of more names than the member keeps handles
// for, from two concurrent connections.
func TestAPIIDsKeepsBoundedHandles(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	m := startOne(t, nil)
	const names = handles.NamesMax + 40
	var asking sync.WaitGroup
	for i, b := range []*browser{newBrowser(t, m, 1), newBrowser(t, m, 2)} {
		asking.Go(func() {
			for n := i; n < names; n += 2 {
				name := map[string]any{"name": "n" + strconv.Itoa(n), "epoch": epoch.Default.UnixMilli()}
				b.mustCall(wire.PathCreate, name)
				delete(name, "epoch")
				idsOf(t, b.mustCall(wire.PathIDs, name))
			}
		})
	}
	asking.Wait()
	attached := 0
	for n := range names {
		name := "n" + strconv.Itoa(n)
		table, _ := m.TableOf(name)
		for _, record := range table.Records {
			for _, slot := range record.Slots {
				if record.Ref.Definition.Name() == name && !slot.ID.IsZero() {
					attached++
				}
			}
		}
	}
	if attached > handles.NamesMax {
		t.Errorf("%d logical nodes are held for POST /v1/ids, of which %d are idle: the bound is %d", attached, names,
			handles.NamesMax)
	}
	idsOf(t, newBrowser(t, m, 1).mustCall(wire.PathIDs, map[string]any{"name": "n0"})) // it was ended meanwhile
}
