package definitions_test

import (
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// BenchmarkCommit measures one group commit of a new name in so many partitions, beside
// 300,000 names in 271.
func BenchmarkCommit(b *testing.B) {
	for _, parts := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(parts), func(b *testing.B) {
			dir := b.TempDir()
			if err := definitions.Create(dir, member); err != nil {
				b.Fatal(err)
			}
			s, err := definitions.Open(dir, member)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var writes []definitions.Write
			for id := range roster.PartitionID(271) {
				var records []definitions.Record
				for i := range 1100 {
					records = append(records, record(b, fmt.Sprintf("sequencer%07d", i*271+int(id)), 5))
				}
				writes = append(writes, whole(id, at(1, 0), records...))
			}
			commit(b, s, writes...)
			n := uint64(0)
			for b.Loop() {
				writes = writes[:0]
				for i := range parts {
					n++
					w := definitions.Write{Partition: roster.PartitionID((int(n) + i*4) % 271), Position: at(2, n)}
					w.Changed = []definitions.Record{record(b, fmt.Sprintf("new%09d", n*7919%1_000_000_007), 7)}
					writes = append(writes, w)
				}
				commit(b, s, writes...)
			}
		})
	}
}
