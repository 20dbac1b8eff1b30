package grid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/wire"
)

// Bounds of the API server.
const (
	headerTimeout  = 5 * time.Second
	bodyTimeout    = 10 * time.Second
	serveTimeout   = 10 * time.Second
	maxHeaderBytes = 4 << 10
	maxConnections = 16384 // at once; one more waits to be accepted
)

// newAPI returns the member's HTTP server.
func (m *Member) newAPI() *http.Server {
	mux := &routes{handlers: map[string]map[string]http.HandlerFunc{}, origins: origins{loopback: isLoopback(m.cfg.APIAddr)}, refuse: m.refuseUnread}
	for path, c := range m.served {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { m.handle(w, r, c) })
	}
	mux.HandleFunc("GET "+wire.PathStatus, m.handleStatus)
	mux.HandleFunc("GET "+wire.PathSettled, m.handleSettled)
	mux.HandleFunc("POST "+wire.PathEvents, m.handleEvents)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", m.handleReady)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           mux,
		TLSConfig:         m.cfg.TLS.Clone(),
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      bodyTimeout + serveTimeout + bodyTimeout, // the event stream sets its own
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: wire.MaxCalls, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			MaxReceiveBufferPerStream: callWindow, MaxReceiveBufferPerConnection: wire.MaxCalls * callWindow,
		},
		ErrorLog:    m.library.Lines("http"),
		BaseContext: func(net.Listener) context.Context { return m.ctx },
		ConnContext: withConnection,
	}
}

// handle decodes a request, has it served, and encodes the answer.
func (m *Member) handle(w http.ResponseWriter, r *http.Request, c *call) {
	kind, err := wire.ContentType(r.Header.Get("Content-Type"))
	if err != nil {
		m.refuseUnread(w, wire.JSON, err)
		return
	}
	r, cancel, err := withDeadline(r)
	if err != nil {
		m.refuseUnread(w, kind, err)
		return
	}
	defer cancel()
	if c.target || r.Header.Get(wire.HeaderTarget) != "" {
		if err := m.addressed(r.Header, c.members); err != nil {
			m.refuseUnread(w, kind, err)
			return
		}
	}
	if !c.target {
		leave, err := m.gate.enter()
		if err != nil {
			m.refuseUnread(w, kind, err)
			return
		}
		defer leave()
	}
	in, leave, err := m.read(w, r, kind, c)
	defer leave()
	if err != nil {
		m.refuse(w, kind, err)
		return
	}
	ctx, end := context.WithTimeout(r.Context(), serveTimeout)
	defer end()
	out, err := c.serve(ctx, in)
	if err != nil {
		m.refuse(w, kind, err)
		return
	}
	m.answer(w, kind, http.StatusOK, out)
}

// read reads and decodes a request's body. What is large in memory, now or once it
// is answered, has its turn until leave.
func (m *Member) read(w http.ResponseWriter, r *http.Request, kind string, c *call) (in any, leave func(), err error) {
	conn := connectionOf(r)
	small, turn := int64(smallBody), conn.holders
	if c.large {
		small = 0
	}
	if c.target {
		turn = conn.members
	}
	body, leave, err := readBody(w, r, small, turn)
	if err == nil {
		err = r.Context().Err() // its caller may have gone while it waited
	}
	if err == nil {
		in, err = c.decode(kind, body)
	}
	if err != nil {
		err = fmt.Errorf("grid: %w", err)
	}
	return in, leave, err
}

// addressed refuses a call between members that is for another grid or another
// incarnation.
func (m *Member) addressed(h http.Header, grid bool) error {
	target := h.Get(wire.HeaderTarget)
	if target != string(m.self) {
		return failure.Errorf(wire.ErrNotAddressed, "grid: the call is for %.80q, this is %s", target, m.self)
	}
	if id := m.grid(); grid && h.Get(wire.HeaderGrid) != id.String() {
		return failure.Errorf(wire.ErrNotAddressed, "grid: the call is for grid %.80q, this is %s", h.Get(wire.HeaderGrid), id)
	}
	return nil
}

// refuseUnread refuses a request whose body was not read. The server reads the rest of
// it before it continues, so the time for that is bounded.
func (m *Member) refuseUnread(w http.ResponseWriter, kind string, err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection can
	m.refuse(w, kind, err)
}

// refuse answers with an error.
func (m *Member) refuse(w http.ResponseWriter, kind string, err error) {
	e := wire.ErrorOf(err, m.state.Roster().Version)
	m.answer(w, kind, e.Status(), e)
}

func (m *Member) answer(w http.ResponseWriter, kind string, status int, out any) {
	body, err := wire.Encode(kind, out)
	if err != nil {
		m.log.Error("answer not encoded", "error", err)
		status, body = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have gone
}

// handleEvents writes a holder's events until one side ends the stream.
func (m *Member) handleEvents(w http.ResponseWriter, r *http.Request) {
	kind, err := wire.ContentType(r.Header.Get("Content-Type"))
	if err != nil {
		m.refuseUnread(w, wire.JSON, err)
		return
	}
	in, leave, err := m.read(w, r, kind, typed(func(context.Context, wire.EventsRequest) (wire.Done, error) { return wire.Done{}, nil }))
	leave()
	if err == nil {
		err = wire.CheckHolder(in.(wire.EventsRequest).Holder)
	}
	if err != nil {
		m.refuse(w, kind, err)
		return
	}
	end, err := connectionOf(r).openStream(m.events)
	if err != nil {
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // it was for the stream alone
		}
		m.refuse(w, kind, err)
		return
	}
	defer end()
	s := m.events.open(r.Context(), in.(wire.EventsRequest).Holder)
	defer s.end()
	w.Header().Set("Content-Type", "application/octet-stream")
	control := http.NewResponseController(w)
	for {
		event, err := s.Next()
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

// handleStatus is the status for whoever only has a browser or curl.
func (m *Member) handleStatus(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), serveTimeout)
	defer cancel()
	leave, err := connectionOf(r).holders.take(ctx)
	if err != nil {
		m.refuse(w, wire.JSON, err)
		return
	}
	defer leave()
	out, err := m.serveStatus(ctx, wire.StatusRequest{})
	if err != nil {
		m.refuse(w, wire.JSON, err)
		return
	}
	m.answer(w, wire.JSON, http.StatusOK, out)
}

func (m *Member) handleReady(w http.ResponseWriter, _ *http.Request) {
	if err := m.notReady(); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
