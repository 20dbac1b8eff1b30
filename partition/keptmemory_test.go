package partition

import (
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestMemoryOfKeepers: a name costs each voter that keeps its definition about two hundred
// bytes, beside what it costs the replicas. Names have 16 bytes.
func TestMemoryOfKeepers(t *testing.T) {
	const names, partitions = 20_000, 271
	perName := heapOf(func() any {
		all := make([]kept, partitions)
		for i := range names {
			def, err := sequencer.Define(fmt.Sprintf("sequencer%07d", i), sequencer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			k := &all[i%partitions]
			if k.records == nil {
				k.apply(backup.Position{Term: 1}, DefinitionChange{Whole: &Definitions{}})
			}
			k.apply(backup.Position{Term: 1, Number: uint64(i)},
				DefinitionChange{Changed: []DefinitionRecord{{Ref: attachment.Ref{Definition: def, Life: attachment.Life{1}}}}})
		}
		return all
	}) / names
	t.Logf("%.0f bytes a name", perName)
	if perName > 250 {
		t.Errorf("want 250 bytes at most")
	}
}
