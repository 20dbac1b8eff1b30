package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// AlsoGet serves a call for GET too, for curl: read builds the request from the query, and the reply
// is JSON.
func AlsoGet[In any](c *Call, read func(url.Values) (In, error)) *Call {
	c.query = func(q url.Values) (any, error) { return read(q) }
	return c
}

// CheckQuery refuses query keys outside known, and keys that are given twice.
func CheckQuery(q url.Values, known ...string) error {
	for key, values := range q {
		if !slices.Contains(known, key) {
			return failure.Errorf(wire.ErrBadRequest, "grid: %.40q: unknown key of the query; give %s", key,
				strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return failure.Errorf(wire.ErrBadRequest, "grid: %s is given %d times in the query; give it once", key, len(values))
		}
	}
	return nil
}

// QueryInt returns a number of a query, from 0 on, 0 if it is not given.
func QueryInt(q url.Values, key string) (int, error) {
	if !q.Has(key) {
		return 0, nil
	}
	n, err := strconv.ParseUint(q.Get(key), 10, strconv.IntSize-1)
	if err != nil {
		return 0, failure.Errorf(wire.ErrBadRequest, "grid: %s=%.40q: give a number, 0 or more", key, q.Get(key))
	}
	return int(n), nil
}

// QueryFlag returns a flag of a query: a key without a value is true.
func QueryFlag(q url.Values, key string) (bool, error) {
	switch text := q.Get(key); {
	case !q.Has(key) || text == "false":
		return false, nil
	case text == "" || text == "true":
		return true, nil
	default:
		return false, failure.Errorf(wire.ErrBadRequest, "grid: %s=%.40q: give true or false, or the key alone", key, text)
	}
}

// handleQuery serves a call that came as GET.
func (a *Server) handleQuery(w http.ResponseWriter, r *http.Request, c *Call) {
	a.serveOutput(w, r, func(ctx context.Context) (any, error) {
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return nil, failure.Errorf(wire.ErrBadRequest, "grid: the query of %s: %w", r.URL.Path, err)
		}
		in, err := c.query(q)
		if err == nil {
			err = a.authorizeUses(r.Context(), r.Method, r.URL.Path, in)
		}
		if err != nil {
			return nil, err
		}
		return c.serve(ctx, in)
	})
}

// serveOutput sends the output to a browser or curl, in JSON, once the connection has room for one more request.
func (a *Server) serveOutput(w http.ResponseWriter, r *http.Request, output func(context.Context) (any, error)) {
	a.serveWithRoom(w, r, func(ctx context.Context) error {
		out, err := output(ctx)
		if err == nil {
			a.answer(w, wire.JSON, http.StatusOK, out)
		}
		return err
	})
}

// serveWithRoom calls serve once the connection has room for one more request, and answers with its error.
func (a *Server) serveWithRoom(w http.ResponseWriter, r *http.Request, serve func(context.Context) error) {
	ctx, cancel := context.WithTimeout(r.Context(), ServeTimeout)
	defer cancel()
	leave, err := connectionOf(r).holders.acquire(ctx)
	if err == nil {
		defer leave()
		err = serve(ctx)
	}
	if err != nil {
		a.refuse(w, wire.JSON, err)
	}
}
