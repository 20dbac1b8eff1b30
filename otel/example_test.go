package otel_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/otel"
	"github.com/snowgrid/snowgrid/sequencer"
)

func ExampleTrace() {
	exporter := tracetest.NewInMemoryExporter() // an exporter of OTLP in a service
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))

	ctx := context.Background()
	member, err := grid.Start(ctx, grid.Config{Trace: otel.Trace(provider)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = member.Close() }()
	if _, err := member.CreateSequencer(ctx, "orders", sequencer.Config{}); err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range exporter.GetSpans() {
		if span.Name != "snowgrid.renew" { // in the background
			fmt.Println(span.Name)
		}
	}
	// Output:
	// snowgrid.attach
	// snowgrid.create
}
