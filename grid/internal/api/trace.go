package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// serve serves a request. A request for IDs has a span, which continues the trace in its headers.
func (a *Server) serve(ctx context.Context, header http.Header, c *Call, in any) (any, error) {
	ids, is := in.(wire.IDsRequest)
	if !is || a.tracer == nil {
		return c.serve(ctx, in)
	}
	ctx, end := a.tracer.Begin(ctx, "ids", append(traceContext(header), slog.String("sequencer", ids.Name))...)
	out, err := c.serve(ctx, in)
	end(err)
	return out, err
}

// traceContext returns the trace in a request's headers, nil for none (W3C Trace Context).
func traceContext(header http.Header) (attrs []slog.Attr) {
	parent := header.Values("traceparent")
	if len(parent) != 1 { // several are invalid
		return nil
	}
	attrs = append(attrs, slog.String("traceparent", parent[0]))
	if state := header.Values("tracestate"); len(state) > 0 {
		attrs = append(attrs, slog.String("tracestate", strings.Join(state, ",")))
	}
	return attrs
}
