package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// routes are the API's handlers by path and method. They check the path first, then
// the method, then the origin, then the caller, so that the error names the first thing to
// correct, whatever else is wrong with the request. HEAD is served where GET is.
type routes struct {
	handlers map[string]map[string]http.HandlerFunc
	local    map[string]bool // paths that exist for callers on this machine alone
	origins  wire.Origins
	// authorize returns nil if the caller may make the request, judged by path and method.
	authorize func(*http.Request) error
	refuse    func(w http.ResponseWriter, kind string, err error)
}

// HandleFunc adds a handler; the pattern is a method, a space and a path.
func (t *routes) HandleFunc(pattern string, h http.HandlerFunc) {
	method, path, _ := strings.Cut(pattern, " ")
	if t.handlers[path] == nil {
		t.handlers[path] = map[string]http.HandlerFunc{}
	}
	t.handlers[path][method] = h
	if method == http.MethodGet {
		t.handlers[path][http.MethodHead] = h
	}
}

func (t *routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, err := t.find(r)
	if err == nil {
		err = t.origins.Check(r)
	}
	if err == nil {
		err = t.authorize(r)
	}
	if err != nil {
		if methods := t.handlers[r.URL.Path]; errors.Is(err, wire.ErrWrongMethod) {
			w.Header().Set("Allow", allow(methods))
		}
		t.refuse(w, answerKind(r), err)
		return
	}
	h(w, r)
}

// find returns the handler of a request, or an error that matches
// wire.ErrUnknownPath or wire.ErrWrongMethod.
func (t *routes) find(r *http.Request) (http.HandlerFunc, error) {
	methods, known := t.handlers[r.URL.Path]
	if !known || t.local[r.URL.Path] && !isLocal(r) {
		return nil, failure.Errorf(wire.ErrUnknownPath, "grid: %.100q: unknown path; GET / lists the paths of the API",
			r.URL.Path)
	}
	if h := methods[r.Method]; h != nil {
		return h, nil
	}
	return nil, failure.Errorf(wire.ErrWrongMethod, "grid: %.20q of %s: the method is not served; use %s", r.Method,
		r.URL.Path, allow(methods))
}

func allow(methods map[string]http.HandlerFunc) string {
	return strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
}

// answerKind returns the encoding for a refusal: the request's if it names one.
func answerKind(r *http.Request) string {
	if kind, err := wire.ContentType(r.Header.Get("Content-Type")); err == nil {
		return kind
	}
	return wire.JSON
}
