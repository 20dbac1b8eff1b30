package api

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// Health returns a handler for GET /livez and GET /readyz alone, for another listener's server: its
// callers need no identity.
func (a *Server) Health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", handleLive)
	mux.HandleFunc("GET /readyz", a.handleReady)
	return mux
}

func handleLive(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive") }

// handleReady answers GET /readyz: 200, or 503 with the reason. With ?verbose it lists every
// condition in the form that Kubernetes' components have, or as JSON.
func (a *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Has("verbose") && q.Get("verbose") != "false" {
		a.listConditions(w, r)
		return
	}
	if err := a.cfg.NotReady(); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	plain(w, http.StatusOK, "ready")
}

func (a *Server) listConditions(w http.ResponseWriter, r *http.Request) {
	out := wire.ReadyResponse{Ready: true, Conditions: a.cfg.Conditions()}
	var text strings.Builder
	for _, c := range out.Conditions {
		switch {
		case c.Met:
			fmt.Fprintf(&text, "[+]%s ok\n", c.Name)
		case c.Reason == "":
			fmt.Fprintf(&text, "[ ]%s not checked\n", c.Name)
		default:
			fmt.Fprintf(&text, "[-]%s failed: %s\n", c.Name, c.Reason)
		}
		out.Ready = out.Ready && c.Met
	}
	status, verdict := http.StatusOK, "readyz check passed"
	if !out.Ready {
		status, verdict = http.StatusServiceUnavailable, "readyz check failed"
	}
	if wantsJSON(r) {
		a.answer(w, wire.JSON, status, out)
		return
	}
	plain(w, status, text.String()+verdict)
}

func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), wire.JSON)
}

func (a *Server) handleSettled(w http.ResponseWriter, _ *http.Request) {
	out := wire.SettledResponse{Settled: true, Version: a.cfg.State.Roster().Version}
	status := http.StatusOK
	if err := a.cfg.NotSettled(); err != nil {
		out.Settled, out.Reason, status = false, err.Error(), http.StatusServiceUnavailable
	}
	a.answer(w, wire.JSON, status, out)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
