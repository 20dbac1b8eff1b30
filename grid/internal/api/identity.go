package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// handleIdentity serves the sets to a browser or curl: GET with the fields of
// wire.IdentityListRequest as parameters.
func (a *Server) handleIdentity(w http.ResponseWriter, r *http.Request) {
	a.serveOutput(w, r, func(ctx context.Context) (any, error) {
		in, err := identityList(r.URL.RawQuery)
		if err != nil {
			return nil, err
		}
		return a.calls[wire.PathIdentity].serve(ctx, in)
	})
}

// identityList returns the request that parameters stand for.
func identityList(query string) (in wire.IdentityListRequest, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return in, failure.Errorf(wire.ErrBadRequest, "grid: %s: parameters: %w", wire.PathIdentity, err)
	}
	for name, all := range values {
		value := all[0]
		switch {
		case len(all) > 1:
			return in, failure.Errorf(wire.ErrBadRequest, "grid: %s: parameter %.40q is given %d times", wire.PathIdentity,
				name, len(all))
		case name == "cluster":
			in.Cluster = value
		case name == "name":
			in.Name = value
		case name == "after":
			if in.After, err = strconv.ParseUint(value, 10, 64); err != nil {
				return in, failure.Errorf(wire.ErrBadRequest, "grid: %s: after=%.40q is not a number", wire.PathIdentity, value)
			}
		default:
			return in, failure.Errorf(wire.ErrBadRequest, "grid: %s: unknown parameter %.40q; there are cluster, name and after",
				wire.PathIdentity, name)
		}
	}
	return in, nil
}
