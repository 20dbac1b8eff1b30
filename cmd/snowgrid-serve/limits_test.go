package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// ownService returns a service over a store in memory, with its node.
func ownService(t *testing.T) *service {
	t.Helper()
	def, err := sequencer.Define("default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := store.Open(t.Context(), store.NewMemory(), store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := newService(def, slog.New(slog.DiscardHandler))
	if err := s.attach(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLimitOfOneRequest(t *testing.T) {
	s := ownService(t)
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, 1024: true, 1025: false} {
		for _, name := range []string{"", "default"} {
			out, err := s.ids(t.Context(), wire.IDsRequest{Name: name, N: &n})
			if ok != (err == nil) || !ok && !errors.Is(err, wire.ErrBadRequest) || ok && len(out.IDs) != n {
				t.Errorf("n %d: %d IDs, %v", n, len(out.IDs), err)
			}
		}
	}
	rpc := &snowflakes{service: s, metrics: newMetrics()}
	if err := rpc.NextMultipleIDs(wrapperspb.UInt32(1025), nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("1025 IDs over gRPC: %v", err)
	}
	if _, err := rpc.NextID(t.Context(), &emptypb.Empty{}); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rpc.service = newService(s.def, s.log) // whose store is not open
	if _, err := rpc.NextID(ended, &emptypb.Empty{}); status.Code(err) != codes.Unavailable {
		t.Errorf("an ID before the store is open: %v", err)
	}
}

// TestPagesOfOtherOriginsAreRefused: a web page cannot have a browser take IDs or create
// sequencers, by a name that was made to lead to this machine either.
func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	server := newHTTP(ownService(t), newMetrics(), "127.0.0.1:0", slog.New(slog.DiscardHandler))
	for _, tc := range []struct {
		host, header, value string
		want                int
	}{
		{"127.0.0.1:8001", "", "", http.StatusOK},
		{"ids.internal", "", "", http.StatusOK}, // not a browser
		{"localhost:8001", "Origin", "http://localhost:8001", http.StatusOK},
		{"localhost:8001", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"localhost:8001", "Origin", "http://elsewhere.example", http.StatusForbidden},
		{"elsewhere.example", "Origin", "http://elsewhere.example", http.StatusForbidden},
		{"elsewhere.example", "Sec-Fetch-Site", "same-origin", http.StatusForbidden},
	} {
		req := httptest.NewRequest(http.MethodPost, "/v1/ids", strings.NewReader(`{}`))
		req.Host = tc.host
		req.Header.Set("Content-Type", wire.JSON)
		if tc.header != "" {
			req.Header.Set(tc.header, tc.value)
		}
		rec := httptest.NewRecorder()
		server.Handler.ServeHTTP(rec, req)
		if rec.Code != tc.want {
			t.Errorf("%+v: %d %s", tc, rec.Code, rec.Body)
		}
	}
}

// TestRefusalsLeaveHTTP2ConnectionsOpen: over HTTP/2 the refusal ends its stream alone; clients lose answers of a
// connection that is being closed.
func TestRefusalsLeaveHTTP2ConnectionsOpen(t *testing.T) {
	server := newHTTP(ownService(t), newMetrics(), "127.0.0.1:0", slog.New(slog.DiscardHandler))
	for version, want := range map[int]string{1: "close", 2: ""} {
		req := httptest.NewRequest(http.MethodPost, "/v1/nothing", strings.NewReader(`{}`))
		req.ProtoMajor = version
		rec := httptest.NewRecorder()
		server.Handler.ServeHTTP(rec, req)
		if got := rec.Header().Get("Connection"); rec.Code != http.StatusNotFound || got != want {
			t.Errorf("HTTP/%d: %d, Connection %q, want %q", version, rec.Code, got, want)
		}
	}
}

// slowBody is a body that arrives after the requests in progress were counted.
type slowBody struct {
	*strings.Reader
	arrives func()
}

func (b slowBody) Read(p []byte) (int, error) {
	b.arrives()
	return b.Reader.Read(p)
}

// TestSlowBodyIsNotInProgress: a request counts once its body has arrived, so that slow ones keep no others out.
func TestSlowBodyIsNotInProgress(t *testing.T) {
	s := ownService(t)
	read := 0
	body := slowBody{strings.NewReader(`{"name":"orders","create":{}}`), func() {
		if read++; s.requests.Load() != 0 {
			t.Error("it counts before its body has arrived")
		}
	}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, wire.PathIDs, body)
	r.Header.Set("Content-Type", wire.JSON)
	w := httptest.NewRecorder()
	newHTTP(s, newMetrics(), "127.0.0.1:0", slog.New(slog.DiscardHandler)).Handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK || read == 0 || s.requests.Load() != 0 {
		t.Errorf("status %d after %d reads, %d in progress: %s", w.Code, read, s.requests.Load(), w.Body)
	}
}
