package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// closedStore is a store in memory that refuses its user once its credentials were revoked.
type closedStore struct {
	*store.Memory
	revoked atomic.Bool
}

func (s *closedStore) Load(ctx context.Context, key string) (store.Entry, error) {
	if s.revoked.Load() {
		return store.Entry{}, failure.Errorf(sequencer.ErrInvalidConfig, "not permitted; check the credentials")
	}
	return s.Memory.Load(ctx, key)
}

// TestStoresRefusalIsNotTheCallers: a request that a store refuses because of this process's credentials is not the
// caller's mistake: it may try again, at another process, too.
func TestStoresRefusalIsNotTheCallers(t *testing.T) {
	def, err := sequencer.Define("default", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	closed := &closedStore{Memory: store.NewMemory()}
	c, err := store.Open(t.Context(), closed, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s := newService(def, slog.New(slog.DiscardHandler))
	if err := s.attach(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	server := newHTTP(s, newMetrics(), "127.0.0.1:0", s.log)
	post := func(body string) *httptest.ResponseRecorder {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, wire.PathIDs, strings.NewReader(body))
		r.Header.Set("Content-Type", wire.JSON)
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, r)
		return w
	}
	for _, body := range []string{ // which a create refuses, and an open does not
		`{"name":"orders ","create":{}}`, `{"name":"new","create":{"epoch":1767225600}}`,
	} {
		if w := post(body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	closed.revoked.Store(true)
	for body, want := range map[string]int{
		`{"name":"orders","create":{}}`:                            http.StatusServiceUnavailable,
		`{"name":"orders"}`:                                        http.StatusServiceUnavailable,
		`{"name":"a\u0000b","create":{}}`:                          http.StatusBadRequest,
		`{"name":"orders","create":{"nodes":7}}`:                   http.StatusBadRequest,
		`{"name":"new","create":{"epoch":"2100-01-01T00:00:00Z"}}`: http.StatusBadRequest,
	} {
		if w := post(body); w.Code != want || want == http.StatusServiceUnavailable &&
			!strings.Contains(w.Body.String(), "check the credentials") {
			t.Errorf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	for cause, want := range map[error]error{ // of a handle that attaches again
		sequencer.ErrInvalidConfig: sequencer.ErrUnavailable, sequencer.ErrNotFound: sequencer.ErrNotFound,
		sequencer.ErrEpochExhausted: sequencer.ErrEpochExhausted,
	} {
		if err := ownFault(failure.Errorf(cause, "the cause")); !errors.Is(err, want) || err.Error() != "the cause" {
			t.Errorf("%v: %v, want %v", cause, err, want)
		}
	}
}
