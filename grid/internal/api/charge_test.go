package api

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestCallsAreCharged: each call about a sequencer is counted once, for its name; renewals
// and calls about none are not. A call too many is answered with when to call again.
func TestCallsAreCharged(t *testing.T) {
	a := secured(nil, allCalls()...)
	a.cfg.Security = nil
	var charged []string
	full := false
	a.cfg.Charge = func(_ context.Context, action security.Action, name string) error {
		charged = append(charged, fmt.Sprintf("%s %s", action, name))
		if full {
			return fmt.Errorf("wrapped: %w", &wire.LaterError{Message: "too many calls", After: 1200 * time.Millisecond,
				Of: sequencer.ErrQuota})
		}
		return nil
	}
	post := func(path, body string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader([]byte(body)))
		r.Header.Set("Content-Type", wire.JSON)
		r = r.WithContext(connectedAs(r.Context(), ""))
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, r)
		return w
	}
	for path, body := range map[string]string{
		wire.PathRenew: `{"holder":"h"}`, wire.PathDirectory: `{}`, wire.PathSettings: `{"voters":3}`,
		wire.PathSequencers: `{}`,
	} {
		if post(path, body); len(charged) > 0 {
			t.Errorf("%s is charged: %q", path, charged)
		}
	}
	for path, c := range map[string]struct{ body, want string }{
		wire.PathCreate: {`{"name":"a"}`, "[create a]"}, wire.PathOpen: {`{"name":"a"}`, "[open a]"},
		wire.PathAttach: {`{"claim":{"sequencer":{"name":"a"}}}`, "[attach a]"},
		wire.PathDetach: {`{"sequencer":{"name":"a"}}`, "[detach a]"}, wire.PathDestroy: {`{"name":"a"}`, "[destroy a]"},
		wire.PathIDs: {`{"name":"a","create":{}}`, "[ids a]"},
	} {
		charged = nil
		if w := post(path, c.body); w.Code != http.StatusOK || fmt.Sprint(charged) != c.want {
			t.Errorf("%s: %d, charged %q, want %s", path, w.Code, charged, c.want)
		}
	}
	full = true
	w := post(wire.PathOpen, `{"name":"a"}`)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "2" || !bytes.Contains(w.Body.Bytes(),
		[]byte(`"code":"quota"`)) || !bytes.Contains(w.Body.Bytes(), []byte(`"retry_after_ms":1200`)) {
		t.Errorf("one too many: %d, Retry-After %q, %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
}
