package partition

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// heapOf returns by how many bytes the heap grows while f runs; what f returns is
// counted.
func heapOf(f func() any) float64 {
	measure := func() float64 {
		runtime.GC()
		runtime.GC() // frees objects that the first run released
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := measure()
	kept := f()
	after := measure()
	runtime.KeepAlive(kept)
	return after - before
}

// TestMemory: a name costs an owner and a backup some hundred bytes, and a logical node
// some tens, however many there are. Names have 16 bytes, and a grid's 271 tables share them.
func TestMemory(t *testing.T) {
	const names, partitions, nodes, now = 20_000, 271, 3000, 1_800_000_000_000
	perName := heapOf(func() any {
		tables := make([]*Table, partitions)
		for i := range names {
			at := i % partitions
			if tables[at] == nil {
				tables[at] = NewTable()
			}
			def, err := sequencer.Define(fmt.Sprintf("sequencer%07d", i), sequencer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := tables[at].Create(attachment.Ref{Definition: def, Life: attachment.Life{1}}, now); err != nil {
				t.Fatal(err)
			}
			tables[at].Change()
		}
		return tables
	}) / names
	attached, session := NewTable(), NewSessions(0, 0)
	def, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.UnixMilli(1000)})
	if err != nil {
		t.Fatal(err)
	}
	ref := attachment.Ref{Definition: def, Life: attachment.Life{1}}
	if _, _, err := attached.Create(ref, clustertime.TickOf(ref.Definition.Config().Epoch.Time())); err != nil {
		t.Fatal(err)
	}
	perNode := heapOf(func() any {
		for i := range nodes {
			c := Claim{Ref: ref, Preference: attachment.Preference{Any: true}}
			binary.BigEndian.PutUint64(c.ID[:], uint64(i+1))
			a, _, err := attached.Attach(c, Bounds{Now: 2000, Ceiling: 3000})
			if err != nil {
				t.Fatal(err)
			}
			session.Show(Tenant{ID: a.ID, Holder: "h", Name: ref.Definition.Name(), Node: a.Node,
				Print: attachment.FingerprintOf(ref.Life, a)}, 0)
			attached.Change()
		}
		return []any{attached, session}
	}) / nodes
	t.Logf("%.0f bytes a name; %.0f bytes a logical node that is attached, at its owner", perName, perNode)
	if perName > 300 || perNode > 130 {
		t.Errorf("want 300 bytes a name and 130 a logical node at most")
	}
}
