// Package otel makes OpenTelemetry spans of the operations of a snowgrid process:
//
//	member, err := grid.Start(ctx, grid.Config{Trace: otel.Trace(provider)})
//
// The fields Trace of client.Config and store.Config take the same function.
//
//	span               operation                                          attributes
//	snowgrid.create    a create of a sequencer without a handle           sequencer
//	snowgrid.attach    an attach of a logical node, often a part of one   sequencer
//	snowgrid.renew     a renewal at a member, or of a store's record      member, claims, sets; sequencer, node
//	snowgrid.failover  from an owner that does not answer to its          member
//	                   replacement in the directory
//	snowgrid.ids       a request for IDs over HTTP                        sequencer
//
// Attribute names begin with snowgrid, too. An operation that fails has a span with its error. IDs have no
// spans: Next makes them in nanoseconds.
//
// A request for IDs with a W3C trace context continues that trace, in a span of the kind server. Whoever may
// send requests chooses trace IDs and whether they are sampled; a sampler of your own decides otherwise.
package otel

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the tracer.
const scope = "github.com/snowgrid/snowgrid/otel"

// prefix begins the names of spans and attributes.
const prefix = "snowgrid."

// Trace returns a function for the fields Trace of grid.Config, client.Config and store.Config. Its spans
// are those of a tracer of the provider.
func Trace(provider trace.TracerProvider) func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context,
	func(error)) {
	tracer := provider.Tracer(scope)
	return func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error)) {
		ctx, span := tracer.Start(remote(ctx, attrs), prefix+name, trace.WithAttributes(attributes(attrs)...),
			trace.WithSpanKind(kindOf(name)))
		return ctx, func(err error) {
			if err != nil {
				text := strings.ToValidUTF8(err.Error(), "\uFFFD")
				span.RecordError(errors.New(text))
				span.SetStatus(codes.Error, text)
			}
			span.End()
		}
	}
}

func kindOf(name string) trace.SpanKind {
	if name == "ids" {
		return trace.SpanKindServer
	}
	return trace.SpanKindInternal
}

// remote returns a context with the trace of a request, if the request has one.
func remote(ctx context.Context, attrs []slog.Attr) context.Context {
	carrier := propagation.MapCarrier{}
	for _, a := range attrs {
		if isTraceContext(a) {
			carrier[a.Key] = a.Value.String()
		}
	}
	if len(carrier) == 0 {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}

func isTraceContext(a slog.Attr) bool { return a.Key == "traceparent" || a.Key == "tracestate" }

// attributes converts the attributes of an operation.
func attributes(attrs []slog.Attr) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		key := attribute.Key(prefix + a.Key)
		switch {
		case isTraceContext(a):
		case a.Value.Kind() == slog.KindInt64:
			out = append(out, key.Int64(a.Value.Int64()))
		default:
			out = append(out, key.String(strings.ToValidUTF8(a.Value.String(), "\uFFFD")))
		}
	}
	return out
}
