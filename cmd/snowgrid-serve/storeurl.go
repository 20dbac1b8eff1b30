package main

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/snowgrid/snowgrid/client/store"
)

// address is a store's URL in parts. Its hosts are a list, which net/url does not read.
type address struct {
	user  *url.Userinfo
	hosts []string
	path  string // without the slash before it
	query url.Values
}

// parseAddress parses the part after the scheme's colon: //user:password@host,host/path?query. Only
// parameters in params are accepted, once each; nil allows all.
func parseAddress(rest string, params []string) (a address, err error) {
	rest, query, _ := strings.Cut(rest, "?")
	if a.query, err = url.ParseQuery(query); err != nil {
		return a, usagef("the parameters are not a URL's: %w", err)
	}
	for name, all := range a.query {
		if params != nil && !slices.Contains(params, name) {
			return a, usagef("parameter %.40q is unknown; give %s", name, strings.Join(params, ", "))
		}
		if params != nil && len(all) > 1 {
			return a, usagef("parameter %s is given %d times", name, len(all))
		}
	}
	rest, found := strings.CutPrefix(rest, "//")
	if !found {
		return a, usagef("the host is missing; write it as SCHEME://HOST/PATH")
	}
	authority, path, _ := strings.Cut(rest, "/")
	if a.path, err = url.PathUnescape(path); err != nil {
		return a, usagef("the path is not a URL's: %w", err)
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		u, err := url.Parse("x://" + authority[:i] + "@host")
		if err != nil {
			// the cause would contain the password
			return a, usagef("the user or password is not a URL's: escape special characters by %%XX")
		}
		a.user, authority = u.User, authority[i+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host != "" {
			a.hosts = append(a.hosts, host)
		}
	}
	return a, nil
}

// yes returns a parameter that is true or false; false if it is left out.
func yes(query url.Values, name string, otherwise bool) (bool, error) {
	if !query.Has(name) {
		return otherwise, nil
	}
	v, err := strconv.ParseBool(query.Get(name))
	if err != nil {
		return false, usagef("parameter %s is %.40q: give true or false", name, query.Get(name))
	}
	return v, nil
}

// directory stands for a directory that is not open, to check a configuration.
type directory struct{ *store.Memory }

func (directory) String() string { return "a directory" }

// locateFile reads the path of a directory: file:DIR or file:///DIR.
func locateFile(_ context.Context, f storeFlags, _, rest string) (located, error) {
	rest, query, _ := strings.Cut(rest, "?")
	if query != "" {
		return located{}, usagef("parameter %.40q is unknown; a directory has none: leave it out, and write ? in a path as "+
			"%%3F", query)
	}
	if path, hosted := strings.CutPrefix(rest, "//"); hosted {
		if !strings.HasPrefix(path, "/") {
			return located{}, usagef("%.40q names a host; write file:DIR or file:///DIR", "file:"+rest)
		}
		rest = path
	}
	dir, err := url.PathUnescape(rest)
	if err != nil {
		return located{}, usagef("the path is not a URL's: %w", err)
	}
	if dir == "" {
		return located{}, usagef("the path is empty; name a directory on a local disk")
	}
	return located{like: directory{store.NewMemory()}, open: func(context.Context, func(error)) (opened, error) {
		open := store.OpenFile
		if f.reads {
			open = store.OpenFileReadOnly
		}
		s, err := open(dir)
		if err != nil {
			return opened{}, err
		}
		return opened{Store: s, name: "file:" + dir, closed: func() {}}, nil
	}}, nil
}
