package api

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// RequestCount counts the requests on a path by result: "ok", an error code, "unready" for a failed
// health check, or "none" without a reply.
type RequestCount struct {
	Path, Code string
	Count      uint64
}

// Counts are the requests and connections of a server.
type Counts struct {
	Requests   []RequestCount // by path and code; a path that is not served is "other"
	InProgress int            // requests of holders, served or waiting
	// ShedRequests and ShedStreams were refused because the member, or the connection, had
	// too many.
	ShedRequests, ShedStreams uint64
	Streams                   int    // open event streams
	Connections               int    // open
	Accepted                  uint64 // connections
	// RefusedConnections were too many, of one peer or in all; DroppedHandshakes were not
	// finished when others needed their place.
	RefusedConnections, DroppedHandshakes uint64
}

type counts struct {
	shedStreams atomic.Uint64
	connections atomic.Int64 // open
	accepted    atomic.Uint64

	mu       sync.Mutex // guards requests
	requests map[requestKey]uint64
}

// requestKey has a served path, or otherPath, and a defined code, so callers cannot grow the map.
type requestKey struct{ path, code string }

const (
	// otherPath counts the requests of paths that are not served.
	otherPath = "other"
	// codeOK and codeUnready are the codes without an error, the latter for a failed check.
	codeOK      = "ok"
	codeUnready = "unready"
)

func (c *counts) countRequest(path, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[requestKey]uint64{}
	}
	c.requests[requestKey{path, cmp.Or(code, "none")}]++
}

// Counts returns the counts since the server was made.
func (a *Server) Counts() Counts {
	c := &a.counts
	out := Counts{
		InProgress: int(a.load.requests.Load()), ShedRequests: a.load.refused.Load(), ShedStreams: c.shedStreams.Load(),
		Streams: a.events.len(), Connections: int(c.connections.Load()), Accepted: c.accepted.Load(),
		RefusedConnections: a.places.refusals(),
	}
	if door := a.door.Load(); door != nil {
		out.DroppedHandshakes = door.acceptor.Dropped()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, n := range c.requests {
		out.Requests = append(out.Requests, RequestCount{key.path, key.code, n})
	}
	slices.SortFunc(out.Requests, func(a, b RequestCount) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// answerWriter remembers the code that a request was answered with.
type answerWriter struct {
	http.ResponseWriter
	code string
}

func (w *answerWriter) WriteHeader(status int) {
	switch {
	case w.code != "":
	case status == http.StatusServiceUnavailable:
		w.code = codeUnready
	default:
		w.code = codeOK
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(body []byte) (int, error) {
	if w.code == "" {
		w.code = codeOK
	}
	return w.ResponseWriter.Write(body)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func noteCode(w http.ResponseWriter, code string) {
	if a, counted := w.(*answerWriter); counted {
		a.code = code
	}
}
