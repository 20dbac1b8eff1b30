// Package membership is compatible with a gossip membership service: a process of that service lists,
// adds and removes nodes by a REST API under /membership, and has a configuration file with keys such
// as iteration.interval.ms. Its clients and its files can be used with a grid unchanged. The paths are
// unversioned, and their JSON has the field names of that service. docs/http.md describes the API, and
// docs/configuration.md the keys.
//
// The nodes are the members that gossip sees. Ownership and grants follow the roster, not this list.
package membership

import (
	"bytes"
	"context"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// The paths of the API. A member serves those for debugging only to callers on its machine, and only if
// its configuration enables them.
const (
	PathSize        = "/membership/size"
	PathNodes       = "/membership/nodes"
	PathSubscribe   = "/membership/subscribe"
	PathUnsubscribe = "/membership/unsubscribe"
	PathState       = "/membership/debug/state-info"
	PathPause       = "/membership/debug/pause"
	PathShutdown    = "/membership/debug/shutdown"
)

// Bounds for a request.
const (
	pauseMax    = 10 * time.Minute
	shutdownMax = time.Hour
	// hostMax is the maximum length of a DNS name, and idMax of a node's id.
	hostMax = 253
	idMax   = 255
)

// Node is one member: its incarnation, its IP, and its gossip and API ports.
type Node struct {
	ID           string `json:"id"`
	Address      string `json:"address"`
	ProtocolPort int    `json:"protocolPort"`
	ServicePort  int    `json:"servicePort"`
}

// Subscribed answers [PathSubscribe]. The last two are empty, since members exchange the rest by gossip.
type Subscribed struct {
	Nodes                  []Node           `json:"nodes"` // ascending by id
	RumorsToSend           []string         `json:"rumorsToSend"`
	SuspectingNodesTimeout map[string]int64 `json:"suspectingNodesTimeout"`
}

// State is a member's own view of the others: incarnations, each list ascending and not nil.
type State struct {
	Nodes      []string `json:"nodes"`      // that are not removed, this one too
	Suspecting []string `json:"suspecting"` // suspected by this member, or by gossip
	Failing    []string `json:"failing"`    // that did not answer this member's last direct probe
}

// Member is the member that serves the API. A function that it returns runs after the answer was sent.
type Member interface {
	// ID returns the member's incarnation.
	ID() string
	// Nodes returns the members that gossip sees, suspected ones too, ascending by id, never nil.
	Nodes() []Node
	State(ctx context.Context) (State, error)
	// Subscribe joins the member at a gossip address.
	Subscribe(ctx context.Context, addr string) error
	// Unsubscribe has this member leave the grid, and end.
	Unsubscribe(ctx context.Context) (after func(), err error)
	// Pause holds this member's gossip, Raft and member calls back, once.
	Pause(ctx context.Context, d time.Duration)
	// Shutdown closes this member after a time, without a goodbye.
	Shutdown(ctx context.Context, d time.Duration) (after func(), err error)
}

// Path is a path with its method: JSON in, whatever the Content-Type, and JSON out.
type Path struct {
	Method, Path string
	// Local restricts the path to callers on this machine.
	Local bool
	// Serve returns the answer, and a function to run after it was sent, nil for none.
	Serve func(ctx context.Context, body []byte) (answer any, after func(), err error)
}

// Paths returns the paths that a member serves; those for debugging only if enabled.
func Paths(m Member, debug bool) []Path {
	s := server{m}
	paths := []Path{
		{Method: http.MethodGet, Path: PathSize, Serve: s.size},
		{Method: http.MethodGet, Path: PathNodes, Serve: s.nodes},
		{Method: http.MethodPost, Path: PathSubscribe, Serve: s.subscribe},
		{Method: http.MethodPost, Path: PathUnsubscribe, Serve: s.unsubscribe},
	}
	if debug {
		paths = append(paths,
			Path{Method: http.MethodGet, Path: PathState, Local: true, Serve: s.state},
			Path{Method: http.MethodPost, Path: PathPause, Local: true, Serve: s.pause},
			Path{Method: http.MethodPost, Path: PathShutdown, Local: true, Serve: s.shutdown})
	}
	return paths
}

type server struct{ Member }

func (s server) size(context.Context, []byte) (any, func(), error) { return len(s.Nodes()), nil, nil }

func (s server) nodes(context.Context, []byte) (any, func(), error) { return s.Nodes(), nil, nil }

// subscribe joins the member at an address. Its id and service port are taken from that member itself,
// not from the request.
func (s server) subscribe(ctx context.Context, body []byte) (any, func(), error) {
	var in Node
	if err := wire.DecodeRequest(wire.JSON, body, &in); err != nil {
		return nil, nil, failure.Errorf(wire.ErrBadRequest,
			`grid: %s; give {"id":"a","address":"10.0.0.1","protocolPort":7946,"servicePort":7948}`, err.Error())
	}
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	if err := s.Subscribe(ctx, net.JoinHostPort(in.Address, strconv.Itoa(in.ProtocolPort))); err != nil {
		return nil, nil, err
	}
	return Subscribed{Nodes: s.Nodes(), RumorsToSend: []string{}, SuspectingNodesTimeout: map[string]int64{}}, nil, nil
}

// check refuses a node that no member can be.
func (in Node) check() error {
	switch {
	case len(in.ID) > idMax:
		return failure.Errorf(wire.ErrBadRequest, "grid: id has %d bytes; give at most %d, or omit it", len(in.ID), idMax)
	case in.Address == "" || len(in.Address) > hostMax:
		return failure.Errorf(wire.ErrBadRequest,
			"grid: address has %d bytes; give the IP or DNS name of a member, 1 to %d bytes", len(in.Address), hostMax)
	case in.ProtocolPort < 1 || in.ProtocolPort > math.MaxUint16:
		return failure.Errorf(wire.ErrBadRequest,
			"grid: protocolPort is %d; give the port of the member's gossip, 1 to 65535", in.ProtocolPort)
	case in.ServicePort < 0 || in.ServicePort > math.MaxUint16:
		return failure.Errorf(wire.ErrBadRequest,
			"grid: servicePort is %d; give the port of the member's API, 1 to 65535, or omit it", in.ServicePort)
	}
	return nil
}

// unsubscribe has the member leave, unless the body names another one.
func (s server) unsubscribe(ctx context.Context, body []byte) (any, func(), error) {
	if len(bytes.TrimSpace(body)) > 0 {
		var in Node
		if err := wire.DecodeRequest(wire.JSON, body, &in); err != nil {
			return nil, nil, failure.Errorf(wire.ErrBadRequest, `grid: %s; give {"id":%q}, or no body`, err.Error(), s.ID())
		}
		if in.ID != "" && in.ID != s.ID() {
			return nil, nil, failure.Errorf(wire.ErrBadRequest,
				"grid: id is %.100q, and this member is %q; a member leaves by its own API", in.ID, s.ID())
		}
	}
	after, err := s.Unsubscribe(ctx)
	return true, after, err
}

func (s server) state(ctx context.Context, _ []byte) (any, func(), error) {
	out, err := s.State(ctx)
	return out, nil, err
}

func (s server) pause(ctx context.Context, body []byte) (any, func(), error) {
	d, err := readSpan(body, time.Millisecond, pauseMax)
	if err != nil {
		return nil, nil, err
	}
	s.Pause(ctx, d)
	return true, nil, nil
}

func (s server) shutdown(ctx context.Context, body []byte) (any, func(), error) {
	d, err := readSpan(body, time.Second, shutdownMax)
	if err != nil {
		return nil, nil, err
	}
	after, err := s.Shutdown(ctx, d)
	return true, after, err
}

// readSpan reads a whole number, counted in unit.
func readSpan(body []byte, unit, most time.Duration) (time.Duration, error) {
	text := string(bytes.TrimSpace(body))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(most/unit) {
		names := map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}
		return 0, failure.Errorf(wire.ErrBadRequest, "grid: the body is %.40q; give a whole number of %s, 0 to %d", text,
			names[unit], int64(most/unit))
	}
	return time.Duration(n) * unit, nil
}
