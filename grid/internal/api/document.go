package api

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/openapi"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// handleDocument returns the handler for the OpenAPI document of the calls that t serves to every caller. The
// first request builds it.
func (a *Server) handleDocument(t *routes) http.HandlerFunc {
	build := sync.OnceValues(func() ([]byte, error) {
		return openapi.Build(openapi.Config{
			Version: buildinfo.Read().Short(),
			Serves:  func(method, path string) bool { return t.handlers[path][method] != nil && !t.local[path] },
			Role: func(method, path string) string { // the least of its callers, "" for none
				row, _ := accessOf(method, path)
				role, _ := security.Least(row.action)
				return string(role)
			},
			Tokens: a.cfg.Tokens != nil || a.cfg.Security == nil,
			Status: reflect.TypeOf(a.cfg.EmptyStatus),
		})
	})
	return func(w http.ResponseWriter, r *http.Request) {
		a.serveWithRoom(w, r, func(context.Context) error {
			document, err := build()
			if err != nil {
				a.cfg.Log.Error("API document not built", "error", err)
				return failure.Errorf(sequencer.ErrUnavailable, "grid: %w; report it as an error of snowgrid", err)
			}
			w.Header().Set("Content-Type", wire.JSON)
			w.Header().Set("Cache-Control", "no-cache") // by the ETag, since another release has another document
			w.Header().Set("ETag", openapi.Tag(document))
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document))
			return nil
		})
	}
}
