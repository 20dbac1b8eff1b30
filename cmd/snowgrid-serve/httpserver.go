package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/openapi"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

const (
	headerTimeout  = 5 * time.Second
	serveTimeout   = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	bodyMax        = 64 << 10
	maxHeaderBytes = 4 << 10
)

type api struct {
	service *service
	metrics *metrics
	origins wire.Origins
	paths   map[string]map[string]http.HandlerFunc // by method
}

func newHTTP(s *service, m *metrics, addr string, log *slog.Logger) *http.Server {
	a := &api{service: s, metrics: m, origins: wire.Origins{Server: "snowgrid-serve", Loopback: wire.IsLoopback(addr)}}
	a.paths = map[string]map[string]http.HandlerFunc{
		wire.PathIDs: {http.MethodPost: a.ids},
		"/livez":     get(func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive") }),
		"/readyz":    get(a.ready(http.StatusServiceUnavailable)),
		"/ready":     get(a.ready(http.StatusBadRequest)), // as the snowflake service on etcd
		"/metrics":   get(a.readers(m.handler())),
	}
	a.paths[wire.PathDocument] = get(a.readers(a.document()))
	return &http.Server{
		Handler: a, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout + serveTimeout,
		WriteTimeout: headerTimeout + 2*serveTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: streamsMax},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// get returns the methods for a readable path.
func get(h http.HandlerFunc) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{http.MethodGet: h, http.MethodHead: h}
}

// ServeHTTP checks the path, then the method, then the origin.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	methods := a.paths[r.URL.Path]
	h := methods[r.Method]
	switch {
	case methods == nil:
		refuse(w, r, failure.Errorf(wire.ErrUnknownPath, "snowgrid-serve: %.100q: unknown path; the paths are %s", r.URL.Path,
			strings.Join(slices.Sorted(maps.Keys(a.paths)), ", ")))
	case h == nil:
		allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allow)
		refuse(w, r, failure.Errorf(wire.ErrWrongMethod, "snowgrid-serve: %.20q of %s: the method is not served; use %s",
			r.Method, r.URL.Path, allow))
	default:
		if err := a.origins.Check(r); err != nil {
			refuse(w, r, err)
			return
		}
		h(w, r)
	}
}

func (a *api) ids(w http.ResponseWriter, r *http.Request) {
	if err := a.service.access.allow(r.TLS, security.IDs, ""); err != nil {
		a.metrics.request("http", 0, err)
		refuse(w, r, err)
		return
	}
	kind, err := wire.ContentType(r.Header.Get("Content-Type"))
	if err != nil {
		a.metrics.request("http", 0, err)
		refuse(w, r, err)
		return
	}
	out, err := a.serveIDs(w, r, kind)
	a.metrics.request("http", len(out.IDs), err)
	if err != nil {
		answer(w, kind, err, nil)
		return
	}
	answer(w, kind, nil, out)
}

func (a *api) serveIDs(w http.ResponseWriter, r *http.Request, kind string) (wire.IDsResponse, error) {
	var in wire.IDsRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		return wire.IDsResponse{}, failure.Errorf(wire.ErrBadRequest,
			"snowgrid-serve: the body ended early or is larger than %d bytes: %w", bodyMax, err)
	}
	if err := wire.DecodeRequest(kind, body, &in); err != nil {
		return wire.IDsResponse{}, err
	}
	if err := a.service.access.allow(r.TLS, security.IDs, cmp.Or(in.Name, a.service.def.Name())); err != nil {
		return wire.IDsResponse{}, err
	}
	if err := a.service.begin(); err != nil { // after the body, which may arrive slowly
		return wire.IDsResponse{}, err
	}
	defer a.service.end()
	ctx, cancel := context.WithTimeout(r.Context(), serveTimeout)
	defer cancel()
	out, err := a.service.ids(ctx, in)
	if err != nil {
		out = wire.IDsResponse{}
	}
	return out, err
}

// document serves the OpenAPI document of the calls that the sidecar shares with members.
func (a *api) document() http.Handler {
	build := sync.OnceValues(func() ([]byte, error) {
		return openapi.Build(openapi.Config{
			Version: buildinfo.Read().Short(),
			Serves:  func(method, path string) bool { return a.paths[path][method] != nil },
			Role: func(_, path string) string {
				return map[string]string{wire.PathIDs: string(security.Holder), wire.PathDocument: string(security.Reader)}[path]
			},
		})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, err := build()
		if err != nil {
			refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", wire.JSON)
		w.Header().Set("Cache-Control", "no-cache") // by the ETag, since another release has another document
		w.Header().Set("ETag", openapi.Tag(document))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document))
	})
}

// readers serves a page to callers with the role reader.
func (a *api) readers(page http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := a.service.access.allow(r.TLS, security.Status, ""); err != nil {
			refuse(w, r, err)
			return
		}
		page.ServeHTTP(w, r)
	}
}

// ready serves whether the process should get requests; not is the status if it should not.
func (a *api) ready(not int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := a.service.notReady(); err != nil {
			plain(w, not, err.Error())
			return
		}
		plain(w, http.StatusOK, "ready")
	}
}

// refuse answers a request before its body is read.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	answer(w, wire.JSON, err, nil)
}

// answer writes a result, or an error with the status for its code.
func answer(w http.ResponseWriter, kind string, err error, out any) {
	status := http.StatusOK
	if err != nil {
		e := wire.ErrorOf(err, 0)
		status, out = e.Status(), e
	}
	body, err := wire.Encode(kind, out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if kind == wire.JSON {
		body = append(body, '\n') // a terminal's prompt begins on a new line
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller is gone
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the caller is gone
}
