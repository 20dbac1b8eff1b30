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
	if !is || a.tracer == nil || CheckName(ids.Name) != nil { // a refused name is any bytes
		return c.serve(ctx, in)
	}
	ctx, end := a.tracer.Begin(ctx, "ids", append(traceContext(header), slog.String("sequencer", ids.Name))...)
	ended := errPanicked
	defer func() { end(ended) }()
	out, err := c.serve(ctx, in)
	ended = err
	return out, err
}

// traceContext returns the trace in a request's headers, nil for none (W3C Trace Context).
func traceContext(header http.Header) (attrs []slog.Attr) {
	parent := header.Values("traceparent")
	if len(parent) != 1 || !isTraceText(parent[0]) { // several are invalid
		return nil
	}
	attrs = append(attrs, slog.String("traceparent", parent[0]))
	if state := strings.Join(header.Values("tracestate"), ","); state != "" && isTraceText(state) {
		attrs = append(attrs, slog.String("tracestate", state))
	}
	return attrs
}

// isTraceText reports whether a header's value is printable ASCII, at most as long as vendors have to accept.
func isTraceText(value string) bool {
	return len(value) <= 512 && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}
