package otel_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/otel"
	"github.com/snowgrid/snowgrid/sequencer"
)

// patience bounds each wait.
const patience = 60 * time.Second

// recorded returns a provider, and a function that waits for an ended span with a name.
func recorded(t *testing.T) (api.TracerProvider, func(name string) trace.ReadOnlySpan) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	return trace.NewTracerProvider(trace.WithSpanProcessor(recorder)), func(name string) trace.ReadOnlySpan {
		t.Helper()
		for began := time.Now(); time.Since(began) < patience; time.Sleep(10 * time.Millisecond) {
			for _, s := range recorder.Ended() {
				if s.Name() == name {
					return s
				}
			}
		}
		t.Fatalf("no span %s within %v", name, patience)
		return nil
	}
}

// start starts a member, alone or joined to another one.
func start(t *testing.T, change func(*grid.Config)) *grid.Member {
	t.Helper()
	cfg := grid.Config{GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0", FirstLife: true,
		Window: 4 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	change(&cfg)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := grid.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func attr(s trace.ReadOnlySpan, key string) (v attribute.Value) {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value
		}
	}
	return v
}

// TestMember: a request for IDs continues the trace of its headers, and the member's work is in that trace.
func TestMember(t *testing.T) {
	provider, span := recorded(t)
	m := start(t, func(c *grid.Config) { c.Expect, c.Trace = 1, otel.Trace(provider) })
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+m.Addrs().API+"/v1/ids",
		strings.NewReader(`{"name":"orders","create":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+traceID+"-"+parent+"-01")
	req.Header.Set("Tracestate", "vendor=1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %s", res.Status)
	}
	ids := span("snowgrid.ids")
	if c := ids.SpanContext(); c.TraceID().String() != traceID || ids.Parent().SpanID().String() != parent ||
		c.TraceState().Get("vendor") != "1" || ids.SpanKind() != api.SpanKindServer || ids.Status().Code != codes.Unset {
		t.Errorf("the span of the request is %+v of %+v, kind %v, status %v", c, ids.Parent(), ids.SpanKind(), ids.Status())
	}
	if v := attr(ids, "snowgrid.sequencer").AsString(); v != "orders" || len(ids.Attributes()) != 1 {
		t.Errorf("its attributes are %v", ids.Attributes())
	}
	for name, of := range map[string]string{"snowgrid.create": "snowgrid.ids", "snowgrid.attach": "snowgrid.create"} {
		if part := span(name); part.Parent().SpanID() != span(of).SpanContext().SpanID() {
			t.Errorf("%s is not a part of %s", name, of)
		}
	}
}

// TestFailover: a client whose owner has ended has the span of its replacement, and those of the renewals at
// the members before and after.
func TestFailover(t *testing.T) {
	provider, span := recorded(t)
	first := start(t, func(c *grid.Config) { c.Expect = 1 })
	members := map[string]*grid.Member{first.Addrs().API: first}
	for range 2 {
		m := start(t, func(c *grid.Config) { c.Join = []string{first.Addrs().Gossip} })
		members[m.Addrs().API] = m
	}
	for _, m := range members {
		for began := time.Now(); !m.Settled(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > patience {
				t.Fatalf("a member has not settled within %v", patience)
			}
		}
	}
	addrs := []string{}
	for addr := range members {
		addrs = append(addrs, addr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Addrs: addrs, Trace: otel.Trace(provider)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.CreateSequencer(ctx, "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	renewal := span("snowgrid.renew")
	owner := attr(renewal, "snowgrid.member").AsString()
	if members[owner] == nil || attr(renewal, "snowgrid.claims").AsInt64()+attr(renewal, "snowgrid.sets").AsInt64() < 1 {
		t.Fatalf("the attributes of a renewal are %v", renewal.Attributes())
	}
	if err := members[owner].Close(); err != nil {
		t.Fatal(err)
	}
	failover := span("snowgrid.failover")
	if at := attr(failover, "snowgrid.member").AsString(); at != owner || failover.Status().Code != codes.Unset ||
		!failover.EndTime().After(failover.StartTime()) {
		t.Errorf("the failover is from %s, status %v; the owner was %s", at, failover.Status(), owner)
	}
}

// TestError: the span of an operation that fails has its error.
func TestError(t *testing.T) {
	provider, span := recorded(t)
	s := store.NewMemory()
	open := func(trace func(context.Context, string, ...slog.Attr) (context.Context, func(error))) *store.Client {
		c, err := store.Open(t.Context(), s, store.Config{Pool: 1, Trace: trace})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	if _, err := open(nil).CreateSequencer(t.Context(), "orders", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := open(otel.Trace(provider)).CreateSequencer(ctx, "orders", sequencer.Config{})
	if !errors.Is(err, sequencer.ErrNoFreeNode) {
		t.Fatalf("a second holder of one node: %v", err)
	}
	for _, name := range []string{"snowgrid.attach", "snowgrid.create"} {
		s := span(name)
		if s.Status().Code != codes.Error || s.Status().Description != err.Error() || len(s.Events()) != 1 {
			t.Errorf("%s has the status %v and %d events, want the error %v", name, s.Status(), len(s.Events()), err)
		}
	}
}

// TestConcurrent: one function serves many goroutines.
func TestConcurrent(t *testing.T) {
	provider, span := recorded(t)
	begin := otel.Trace(provider)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, end := begin(t.Context(), "attach", slog.String("sequencer", "orders"), slog.Bool("again", true))
			end(nil)
		})
	}
	all.Wait()
	if s := span("snowgrid.attach"); attr(s, "snowgrid.again").AsString() != "true" {
		t.Errorf("the attributes are %v", s.Attributes())
	}
}
