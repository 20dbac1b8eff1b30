// Package api serves a member's calls, over HTTP and to handles in its own process. The member's other
// packages register their calls; the server decodes a request, checks its target, limits the work per
// connection and in total, and encodes the reply. Caller is the client side: calls to other members.
package api

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/security"

	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/tracing"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// Bounds of the API server.
const (
	headerTimeout  = 5 * time.Second
	bodyTimeout    = 10 * time.Second
	ServeTimeout   = 10 * time.Second
	maxHeaderBytes = 12 << 10 // with a token of up to 8 KB
)

// Config has the calls and limits of a server.
type Config struct {
	Self  roster.Incarnation
	Grid  func() roster.GridID // the member's, zero for none
	State *state.State
	Life  *tenure.Life
	// Security proves who this member is, and verifies callers. nil: clear text, and each caller
	// is security.Everyone.
	Security *security.Credentials
	Tokens   Tokens     // of callers without a certificate; nil: none is valid
	Audit    *audit.Log // of denials
	// Charge counts a call about the sequencer of a name, and refuses one too many; nil: any
	// number is served.
	Charge   func(ctx context.Context, action security.Action, name string) error
	Loopback bool // only this machine reaches the server
	// IdleFor is the idle timeout of HTTP/1.1 connections; 0 = DefaultIdle.
	IdleFor time.Duration
	Log     *slog.Logger
	Library *librarylog.Log
	// NotAccepted, if not nil, gets the error of a connection that was not accepted. It must not block.
	NotAccepted func(error)
	// Status returns the status of the whole grid; NotReady and NotSettled return nil or the reason.
	Status               func(context.Context) (any, error)
	EmptyStatus          any // a status without content, for the API's document
	NotReady, NotSettled func() error
	// Conditions returns the conditions of readiness: NotReady returns nil if all are met.
	Conditions func() []wire.Condition
	// Paths are the calls under /membership.
	Paths []membership.Path
	Trace tracing.Func // begins the span of a request for IDs; nil: none
	// Hold, if not nil, returns when calls between members may be served, or when done is
	// closed. Open reports whether it returns immediately.
	Hold func(done <-chan struct{})
	Open func() bool
}

// Server serves the calls of a member over HTTP, and to its own handles without.
type Server struct {
	cfg    Config
	calls  map[string]*Call // by path
	events *Events
	load   admission
	places places
	door   atomic.Pointer[listener] // nil before Serve
	bodies budget                   // of all callers but members
	// unanswered are the bytes that all callers but members sent without an answer.
	unanswered atomic.Int64
	framed     framed
	counts     counts
	tracer     *tracing.Tracer
	http       *http.Server
}

// New returns a server for calls and event streams.
func New(cfg Config, events *Events, calls []*Call) *Server {
	cfg.IdleFor = cmp.Or(cfg.IdleFor, DefaultIdle)
	a := &Server{cfg: cfg, calls: map[string]*Call{}, events: events, bodies: newBudget(callerBodies, callerWaits),
		tracer: tracing.New(cfg.Trace)}
	for _, c := range calls {
		a.calls[c.path] = c.ofTenure(cfg.Life)
	}
	a.http = a.newHTTP()
	return a
}

// ofTenure returns a call that is refused, if it is one between members of a grid, when
// the member has left that grid since it arrived.
func (c *Call) ofTenure(life *tenure.Life) *Call {
	if !c.members {
		return c
	}
	guarded := *c
	guarded.serve = func(ctx context.Context, in any) (any, error) {
		if life.Tenure().Elsewhere(ctx) {
			return nil, errElsewhere
		}
		return c.serve(ctx, in)
	}
	if c.start != nil {
		guarded.start = func(ctx context.Context, in any, reply func(any, error)) {
			if life.Tenure().Elsewhere(ctx) {
				reply(nil, errElsewhere)
				return
			}
			c.start(ctx, in, reply)
		}
	}
	return &guarded
}

var errElsewhere = failure.Errorf(wire.ErrNotAddressed, "grid: this member has left that grid")

// Serve serves the calls that come by a listener, until Close.
func (a *Server) Serve(ln net.Listener) {
	door := a.newListener(ln)
	a.door.Store(door)
	err := a.http.Serve(door)
	if !errors.Is(err, http.ErrServerClosed) {
		a.cfg.Log.Error("the API has ended", "error", err)
	}
}

// Close ends the listener, every connection and every call.
func (a *Server) Close() error {
	err := a.http.Close()
	a.framed.close()
	return err
}

// Handler returns the handler of all calls.
func (a *Server) Handler() http.Handler { return a.http.Handler }

// Paths returns the paths of the calls, sorted.
func (a *Server) Paths() []string { return slices.Sorted(maps.Keys(a.calls)) }

func (a *Server) newHTTP() *http.Server {
	mux := &routes{handlers: map[string]map[string]http.HandlerFunc{}, local: map[string]bool{},
		origins: wire.Origins{Server: "grid", Loopback: a.cfg.Loopback}, authorize: a.authorize, refuse: a.refuseUnread}
	for path, c := range a.calls {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { a.handle(w, r, c) })
		if c.remove != nil {
			mux.HandleFunc("DELETE "+path, func(w http.ResponseWriter, r *http.Request) { a.handle(w, r, c.remove) })
		}
		if c.query != nil {
			mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { a.handleQuery(w, r, c) })
		}
	}
	for _, p := range a.cfg.Paths {
		mux.HandleFunc(p.Method+" "+p.Path, func(w http.ResponseWriter, r *http.Request) { a.handlePath(w, r, p) })
		mux.local[p.Path] = p.Local
	}
	mux.HandleFunc("GET "+wire.PathStatus,
		func(w http.ResponseWriter, r *http.Request) { a.serveOutput(w, r, a.cfg.Status) })
	mux.HandleFunc("GET "+wire.PathSettled, a.handleSettled)
	mux.HandleFunc("POST "+wire.PathEvents, a.handleEvents)
	mux.HandleFunc("GET "+frame.Path, a.handleFrames)
	mux.HandleFunc("GET "+wire.PathDocument, a.handleDocument(mux))
	mux.HandleFunc("GET /livez", handleLive)
	mux.HandleFunc("GET /readyz", a.handleReady)
	mux.HandleFunc("GET /", a.handleIndex(mux))
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           a.arriving(a.counting(mux)),
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      bodyTimeout + ServeTimeout + bodyTimeout, // the event stream sets its own
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: wire.MaxCalls, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			MaxReceiveBufferPerStream: callWindow, MaxReceiveBufferPerConnection: wire.MaxCalls * callWindow,
		},
		ErrorLog:    a.cfg.Library.Lines("http"),
		BaseContext: func(net.Listener) context.Context { return a.cfg.Life.Context() },
		ConnContext: withConnection,
		ConnState:   a.noteState,
	}
}

// arriving notes in each request's context its caller, and the tenure in which it arrived.
func (a *Server) arriving(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.refusedHere(w, r) {
			return
		}
		conn := connectionOf(r)
		end := conn.begin(r.ContentLength)
		in := r.WithContext(tenure.NewContext(a.identified(r), a.cfg.Life.Tenure()))
		body := &trackedBody{ReadCloser: r.Body, ended: r.ContentLength == 0}
		in.Body = body
		h.ServeHTTP(w, in)
		answered := r.Context().Err() == nil
		end(answered, body.ended)
		if !answered {
			conn.givenUp()
		}
	})
}

// counting counts each request with the code of its answer.
func (a *Server) counting(t *routes) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if t.handlers[path] == nil {
			path = otherPath
		}
		answer := &answerWriter{ResponseWriter: w}
		defer func() { a.counts.countRequest(path, answer.code) }()
		t.ServeHTTP(answer, r)
	})
}

// handle decodes a request, has it served, and encodes the answer.
func (a *Server) handle(w http.ResponseWriter, r *http.Request, c *Call) {
	wire.SetRelease(w.Header())
	kind, err := wire.ContentType(r.Header.Get("Content-Type"))
	if err != nil {
		a.refuseUnread(w, wire.JSON, err)
		return
	}
	if err := wire.CheckRelease(r.Header); err != nil {
		a.refuseUnread(w, kind, err)
		return
	}
	r, cancel, err := withDeadline(r)
	if err != nil {
		a.refuseUnread(w, kind, err)
		return
	}
	defer cancel()
	if c.target || r.Header.Get(wire.HeaderTarget) != "" {
		if err := a.addressed(r.Header.Get(wire.HeaderTarget), r.Header.Get(wire.HeaderGrid), r.Header.Get(wire.HeaderClaim),
			c); err != nil {
			a.refuseUnread(w, kind, err)
			return
		}
	}
	if c.target && a.cfg.Hold != nil {
		a.cfg.Hold(r.Context().Done())
	}
	if !c.target {
		leave, err := a.load.enter(priorityOf(c.path), timeLeft(r.Context()))
		if err != nil {
			a.refuseUnread(w, kind, err)
			return
		}
		defer leave()
	}
	in, leave, err := a.read(w, r, kind, c)
	defer leave()
	if err == nil {
		leave, err = a.admitGrant(r.Context(), in)
		defer leave()
	}
	if err != nil {
		a.refuse(w, kind, err)
		return
	}
	ctx, end := context.WithTimeout(r.Context(), ServeTimeout)
	defer end()
	out, err := a.serve(ctx, r.Header, c, in)
	if err != nil {
		a.refuse(w, kind, err)
		return
	}
	a.answer(w, kind, http.StatusOK, out)
}

// read reads and decodes a request's body, and authorizes the sequencers in it. A request that needs
// much memory, for itself or its reply, keeps its turn until leave.
func (a *Server) read(w http.ResponseWriter, r *http.Request, kind string, c *Call) (in any, leave func(), err error) {
	conn := connectionOf(r)
	small, turn := int64(smallBody), conn.holders
	if c.large {
		small = 0
	}
	if c.target {
		turn = conn.members
	}
	release := func() {}
	if !c.target {
		if release, err = conn.chargeBody(r.Context(), r.ContentLength); err != nil {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // the server reads the rest
			return nil, release, err
		}
	}
	if conn.rate != nil && (r.ContentLength > smallBody || r.ContentLength < 0) {
		r.Body = pacedBody{r.Body, conn.rate, r.Context().Done()}
	}
	body, end, err := readBody(w, r, small, turn)
	leave = func() { end(); release() }
	if err == nil {
		err = r.Context().Err() // its caller may have gone while it waited
	}
	if err == nil {
		in, err = c.decode(kind, body)
	}
	if err != nil {
		return in, leave, fmt.Errorf("grid: %w", err)
	}
	if PeerOf(r.Context()).Role != security.Member {
		in = c.unrelayed(in)
	}
	return in, leave, a.authorizeUses(r.Context(), r.Method, r.URL.Path, in)
}

// addressed refuses a call between members that is for another grid or another
// incarnation.
func (a *Server) addressed(target, grid, claim string, c *Call) error {
	this := target == string(a.cfg.Self) || c.anyStart && target == string(a.cfg.Self.Member())
	if !this {
		return failure.Errorf(wire.ErrNotAddressed, "grid: the call is for %.80q, this is %s", target, a.cfg.Self)
	}
	if id := a.cfg.Grid(); c.members && !id.IsText(grid) {
		return failure.Errorf(wire.ErrNotAddressed, "grid: the call is for grid %.80q, this is %s", grid, id)
	}
	if r := a.cfg.State.Roster(); c.members && !c.anyClaim && r.Refuses(a.cfg.Self, roster.Claim(claim)) {
		return failure.Errorf(wire.ErrNotAddressed,
			"grid: the call is of claim %.40q of the grid's anchor, this member's is %q", claim, string(r.Claim))
	}
	return nil
}

// opening reads requests for event streams.
var opening = Typed(wire.PathEvents,
	func(context.Context, wire.EventsRequest) (wire.Done, error) { return wire.Done{}, nil })

// handleEvents writes a holder's events until one side ends the stream.
func (a *Server) handleEvents(w http.ResponseWriter, r *http.Request) {
	kind, err := wire.ContentType(r.Header.Get("Content-Type"))
	if err != nil {
		a.refuseUnread(w, wire.JSON, err)
		return
	}
	in, leave, err := a.read(w, r, kind, opening)
	leave()
	if err == nil {
		err = wire.CheckHolder(in.(wire.EventsRequest).Holder)
	}
	if err != nil {
		a.refuse(w, kind, err)
		return
	}
	end, err := connectionOf(r).openStream(a.events, PeerOf(r.Context()).ID)
	if err != nil {
		a.counts.shedStreams.Add(1)
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // it was for the stream alone
		}
		a.refuse(w, kind, err)
		return
	}
	defer end()
	ctx, done := a.untilExpiry(r.Context())
	defer done()
	s := a.events.open(ctx, in.(wire.EventsRequest).Holder)
	defer s.end()
	w.Header().Set("Content-Type", "application/octet-stream")
	control := http.NewResponseController(w)
	for {
		event, err := s.Next()
		if err == nil && event.Name != "" && !PeerOf(ctx).MayUse(event.Name) {
			continue // it was attached under another certificate
		}
		if err == nil {
			_ = control.SetWriteDeadline(time.Now().Add(bodyTimeout))
			err = errors.Join(wire.WriteEvent(w, event), control.Flush())
			_ = control.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream by it even while nothing is written
		}
		if err != nil {
			return
		}
	}
}
