package api

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestTokens: a token counts on a connection without a certificate, and a bad one is refused
// at every path.
func TestTokens(t *testing.T) {
	a := secured(nil, allCalls()...)
	none := secured(nil, allCalls()...)
	none.cfg.Tokens = nil
	for _, test := range []struct {
		server                    *Server
		certificate, header, path string
		want                      int
	}{
		{a, "", "Bearer reader", "/v1/status", 200},
		{a, "", "bearer reader", "/v1/status", 200},
		{a, "", "Bearer stranger", "/v1/status", 403},
		{a, "", "Bearer forged", "/v1/status", 401},
		{a, "", "Bearer forged", "/livez", 401},
		{a, "", "Bearer", "/livez", 401},
		{a, "", "Basic cmVhZGVyOg==", "/v1/status", 401},
		{a, "reader", "Bearer forged", "/v1/status", 200},
		{a, "stranger", "Bearer admin", "/v1/status", 403},
		{a, "expired", "Bearer admin", "/v1/status", 401},
		{none, "", "Bearer reader", "/v1/status", 401},
	} {
		w := test.server.send(t, test.certificate, test.header, http.MethodGet, test.path, nil)
		if w.Code != test.want || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%+v: %d %s, WWW-Authenticate %q", test, w.Code, w.Body, w.Header().Get("WWW-Authenticate"))
		}
	}
}

// TestRelayIsBelievedFromMembers: the caller that a request names, and that it was passed
// on, count only if a member sent it.
func TestRelayIsBelievedFromMembers(t *testing.T) {
	var got wire.RemoveRequest
	a := secured(nil, Typed(wire.PathRemove, func(_ context.Context, in wire.RemoveRequest) (wire.Done, error) {
		got = in
		return wire.Done{}, nil
	}).ForTarget())
	for as, believed := range map[string]bool{"admin": false, "member": true} {
		got = wire.RemoveRequest{}
		w := a.call(t, as, http.MethodPost, wire.PathRemove,
			strings.NewReader(`{"member":"m","asked_by":"10.0.0.1:1 forged","forwarded":true}`))
		if want := (wire.Relay{AskedBy: "10.0.0.1:1 forged", Forwarded: true}); w.Code != 200 || got.Member != "m" ||
			(got.Relay == want) != believed || !believed && got.Relay != (wire.Relay{}) {
			t.Errorf("as %s: %d, %+v", as, w.Code, got)
		}
	}
}

// TestDenialsAreAudited: each denial is a line with the action, the name if the request was
// read, and the caller.
func TestDenialsAreAudited(t *testing.T) {
	var text bytes.Buffer
	a := secured(audit.New(slog.New(slog.NewTextHandler(&text, nil)), func() time.Duration { return 0 }), allCalls()...)
	for _, test := range []struct{ as, path, body, want string }{
		{"holder", wire.PathDestroy, `{"name":"orders-1"}`,
			`action=destroy name="" who="pipe \"holder\" (cert:holder, role holder)" result=denied error="security: denied: destroy needs the role admin`},
		{"orders", wire.PathAttach, `{"claim":{"sequencer":{"name":"bills-1"}}}`,
			`action=attach name=bills-1 who="pipe \"orders\" (cert:orders, role holder, names orders-*)" result=denied`},
		{"", wire.PathAttach, `{}`,
			`action=attach name="" who=pipe result=denied error="security: not authenticated: attach needs the role holder`},
		{"expired", wire.PathDetach, `{}`, `result=denied error="security: not authenticated: certificate of expired"`},
		{"admin", wire.PathDestroy, `{"name":"orders-1"}`, ""},
	} {
		text.Reset()
		if a.call(t, test.as, http.MethodPost, test.path, strings.NewReader(test.body)); test.want == "" && text.Len() > 0 ||
			!strings.Contains(text.String(), test.want) {
			t.Errorf("%s as %q: %q, want %s", test.path, test.as, text.String(), test.want)
		}
	}
}
