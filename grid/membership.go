package grid

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// membership serves the paths under /membership: the members that gossip sees, in the form
// of a service that these paths are taken from. Ownership and grants follow the roster, not
// this list.
type membership struct {
	self   roster.Incarnation
	debug  bool
	gate   *transport.Gate // nil without debug
	log    *slog.Logger
	audit  *audit.Log
	gossip *gossip.Gossip // set before anything is served
	done   <-chan struct{}
	leave  func(context.Context) error
	close  func() error

	started atomic.Bool // Start has returned
	leaving atomic.Bool // it leaves by request
}

// Bounds for a request.
const (
	// requestedLeave bounds the time that a member may take to leave by request.
	requestedLeave = 20 * time.Second
	// pauseMax and shutdownMax bound debugging requests.
	pauseMax    = 10 * time.Minute
	shutdownMax = time.Hour
	// hostMax is the maximum length of a DNS name, and nodeIDMax of a node's id.
	hostMax   = 253
	nodeIDMax = 255
)

// newMembership returns the membership for a member that is being opened.
func newMembership(m *Member) *membership {
	return &membership{
		self: m.self, debug: m.cfg.Debug, gate: m.gate, log: m.log, audit: m.audit, done: m.ctx.Done(), leave: m.Leave,
		close: m.Close,
	}
}

// paths returns every served path; debugging paths only if enabled.
func (s *membership) paths() []api.Path {
	paths := []api.Path{
		{Method: http.MethodGet, Path: wire.PathMembershipSize, Serve: s.serveSize},
		{Method: http.MethodGet, Path: wire.PathMembershipNodes, Serve: s.serveNodes},
		{Method: http.MethodPost, Path: wire.PathMembershipSubscribe, Serve: s.serveSubscribe},
		{Method: http.MethodPost, Path: wire.PathMembershipUnsubscribe, Serve: s.serveUnsubscribe},
	}
	if s.debug {
		paths = append(paths,
			api.Path{Method: http.MethodGet, Path: wire.PathMembershipState, Local: true, Serve: s.serveState},
			api.Path{Method: http.MethodPost, Path: wire.PathMembershipPause, Local: true, Serve: s.servePause},
			api.Path{Method: http.MethodPost, Path: wire.PathMembershipShutdown, Local: true, Serve: s.serveShutdown},
		)
	}
	return paths
}

// nodes returns the members that gossip sees, suspected ones too, ascending by id.
func (s *membership) nodes() []wire.MembershipNode {
	out := []wire.MembershipNode{}
	for _, p := range s.gossip.Peers() {
		node := wire.MembershipNode{ID: string(p.Incarnation)}
		node.Address, node.ProtocolPort = splitAddr(p.Gossip)
		_, node.ServicePort = splitAddr(p.API)
		out = append(out, node)
	}
	return out
}

// splitAddr splits an IP:port; an invalid part is empty.
func splitAddr(addr string) (host string, port int) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return host, 0
	}
	return host, int(n)
}

func (s *membership) serveSize(context.Context, []byte) (any, func(), error) {
	return len(s.nodes()), nil, nil
}

func (s *membership) serveNodes(context.Context, []byte) (any, func(), error) {
	return s.nodes(), nil, nil
}

// serveSubscribe joins the member at an address. Its id and service port are taken from that
// member itself, not from the request.
func (s *membership) serveSubscribe(ctx context.Context, body []byte) (any, func(), error) {
	var in wire.MembershipNode
	if err := wire.DecodeRequest(wire.JSON, body, &in); err != nil {
		return nil, nil, failure.Errorf(wire.ErrBadRequest,
			`grid: %s; give {"id":"a","address":"10.0.0.1","protocolPort":7946,"servicePort":7948}`, err.Error())
	}
	if err := checkNode(in); err != nil {
		return nil, nil, err
	}
	addr := net.JoinHostPort(in.Address, strconv.Itoa(in.ProtocolPort))
	err := s.gossip.Subscribe(ctx, addr)
	s.audit.Write(audit.Entry{Action: audit.Subscribe, Name: addr, Who: api.WhoOf(ctx), Err: err})
	if err != nil {
		return nil, nil, err
	}
	return wire.SubscribeResponse{Nodes: s.nodes(), RumorsToSend: []string{},
		SuspectingNodesTimeout: map[string]int64{}}, nil, nil
}

// checkNode refuses a node that no member can be.
func checkNode(in wire.MembershipNode) error {
	switch {
	case len(in.ID) > nodeIDMax:
		return failure.Errorf(wire.ErrBadRequest, "grid: id has %d bytes; give at most %d, or omit it", len(in.ID), nodeIDMax)
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

// serveUnsubscribe has this member leave the grid, and end, after the answer.
func (s *membership) serveUnsubscribe(ctx context.Context, body []byte) (any, func(), error) {
	if len(bytes.TrimSpace(body)) > 0 {
		var in wire.MembershipNode
		if err := wire.DecodeRequest(wire.JSON, body, &in); err != nil {
			return nil, nil, failure.Errorf(wire.ErrBadRequest, `grid: %s; give {"id":%q}, or no body`, err.Error(), s.self)
		}
		if in.ID != "" && in.ID != string(s.self) {
			return nil, nil, failure.Errorf(wire.ErrBadRequest,
				"grid: id is %.100q, and this member is %q; a member leaves by its own API", in.ID, s.self)
		}
	}
	if err := s.notStarted(); err != nil {
		return nil, nil, err
	}
	who := api.WhoOf(ctx)
	s.audit.Write(audit.Entry{Action: audit.Unsubscribe, Name: string(s.self), Who: who})
	return true, func() { s.leaveNow(who) }, nil
}

// notStarted returns the reason why a member cannot end by request: grid.Start has not returned it.
func (s *membership) notStarted() error {
	if s.started.Load() {
		return nil
	}
	return failure.Errorf(wire.ErrNotNow, "grid: the member is starting and waits for its grid; end its process instead")
}

// leaveNow starts to leave, once. The goroutine ends with the member.
func (s *membership) leaveNow(who string) {
	if !s.leaving.CompareAndSwap(false, true) {
		return
	}
	s.log.Warn("member leaving by API request", "who", who)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestedLeave)
		defer cancel()
		if err := s.leave(ctx); err != nil {
			s.log.Error("member ended without leaving the grid cleanly", "error", err)
		}
	}()
}

func (s *membership) serveState(ctx context.Context, _ []byte) (any, func(), error) {
	suspecting, err := s.gossip.Suspecting(ctx)
	if err != nil {
		return nil, nil, err
	}
	out := wire.MembershipState{Nodes: []string{}, Suspecting: texts(suspecting), Failing: texts(s.gossip.Failing())}
	for _, p := range s.gossip.Peers() {
		out.Nodes = append(out.Nodes, string(p.Incarnation))
	}
	return out, nil, nil
}

func texts(incarnations []roster.Incarnation) []string {
	out := []string{}
	for _, inc := range incarnations {
		out = append(out, string(inc))
	}
	return out
}

// servePause holds this member's gossip, Raft and member calls back, once.
func (s *membership) servePause(ctx context.Context, body []byte) (any, func(), error) {
	d, err := readSpan(body, time.Millisecond, pauseMax)
	if err != nil {
		return nil, nil, err
	}
	s.log.Warn("debugging: gossip, Raft and calls between members are paused", "for", d, "who", api.WhoOf(ctx))
	s.gate.Shut(d)
	return true, nil, nil
}

// serveShutdown closes this member after a time, without a goodbye.
func (s *membership) serveShutdown(ctx context.Context, body []byte) (any, func(), error) {
	d, err := readSpan(body, time.Second, shutdownMax)
	if err != nil {
		return nil, nil, err
	}
	if err := s.notStarted(); err != nil {
		return nil, nil, err
	}
	s.log.Warn("debugging: member will end", "after", d, "who", api.WhoOf(ctx))
	return true, func() { go s.closeAfter(d) }, nil
}

// closeAfter closes the member after d, unless that has ended before.
func (s *membership) closeAfter(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		if err := s.close(); err != nil {
			s.log.Error("member ended with an error", "error", err)
		}
	case <-s.done:
	}
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
