package snowflake_test

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/compat/snowflake"
	"github.com/snowgrid/snowgrid/sequencer"
)

// BenchmarkGenerate divides the time for Node.Generate by the time for Sequencer.Next. The layout has a
// million IDs per millisecond, so neither waits for the next one.
func BenchmarkGenerate(b *testing.B) {
	s, _ := create(b, sequencer.Config{Layout: sequencer.Layout{Bits: 63, LowBits: 24, Nodes: 16}})
	node, err := snowflake.UseCustom(s)
	if err != nil {
		b.Fatal(err)
	}
	const batch = 1000
	var next, generate time.Duration
	ctx := b.Context()
	for b.Loop() {
		began := time.Now()
		for range batch {
			if _, err := s.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
		middle := time.Now()
		for range batch {
			node.Generate()
		}
		next, generate = next+middle.Sub(began), generate+time.Since(middle)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(generate)/float64(next), "Generate/Next")
}
