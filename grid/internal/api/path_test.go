package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestLocal: a request is local if it came by loopback, to a loopback name, and by no proxy.
func TestLocal(t *testing.T) {
	for _, test := range []struct {
		remote, host, forwarded string
		want                    bool
	}{
		{"127.0.0.1:5", "127.0.0.1:7948", "", true},
		{"127.0.0.7:5", "localhost:7948", "", true},
		{"[::1]:5", "[::1]:7948", "", true},
		{"[::ffff:127.0.0.1]:5", "localhost", "", true},
		{"10.0.0.1:5", "127.0.0.1:7948", "", false},
		{"127.0.0.1:5", "evil.example:7948", "", false},
		{"127.0.0.1:5", "10.0.0.1:7948", "", false},
		{"127.0.0.1:5", "127.0.0.1:7948", "Forwarded", false},
		{"127.0.0.1:5", "127.0.0.1:7948", "X-Forwarded-For", false},
		{"@", "localhost", "", false},
		{"", "localhost", "", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/membership/debug/state-info", nil)
		r.RemoteAddr, r.Host = test.remote, test.host
		if test.forwarded != "" {
			r.Header.Set(test.forwarded, "10.0.0.9")
		}
		if isLocal(r) != test.want {
			t.Errorf("%+v: %v", test, isLocal(r))
		}
	}
}
