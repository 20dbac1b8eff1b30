package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// refuseUnread refuses a request without reading its body. The server reads the rest before it
// continues, so the time for it is bounded.
func (a *Server) refuseUnread(w http.ResponseWriter, kind string, err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection can
	a.refuse(w, kind, err)
}

func (a *Server) refuse(w http.ResponseWriter, kind string, err error) {
	e := wire.ErrorOf(err, a.cfg.State.Roster().Version)
	noteCode(w, e.Code)
	if e.Status() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="snowgrid"`)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((e.RetryAfter+999)/1000, 10))
	}
	a.answer(w, kind, e.Status(), e)
}

func (a *Server) answer(w http.ResponseWriter, kind string, status int, out any) {
	body, err := wire.Encode(kind, out)
	if err != nil {
		a.cfg.Log.Error("answer not encoded", "error", err)
		status, body = http.StatusInternalServerError, nil
	}
	if kind == wire.JSON {
		body = append(body, '\n') // a terminal's prompt begins on a line of its own
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have gone
}
