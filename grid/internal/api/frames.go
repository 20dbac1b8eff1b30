package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/sequencer"
)

type framed struct {
	workers frames.Workers

	mu     sync.Mutex // guards the fields below
	closed bool
	open   map[net.Conn]struct{}
}

// add records a connection until leave, or reports false if the server is closed.
func (f *framed) add(conn net.Conn) (leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false
	}
	if f.open == nil {
		f.open = map[net.Conn]struct{}{}
	}
	f.open[conn] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, conn)
	}, true
}

// close ends every connection.
func (f *framed) close() {
	f.mu.Lock()
	f.closed = true
	for conn := range f.open {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.workers.Close()
}

// upgradeError returns why a request does not upgrade to frames. A browser has no part in it: the
// requests in frames name no origin.
func upgradeError(r *http.Request) error {
	switch {
	case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
		return failure.Errorf(wire.ErrCrossOrigin, "grid: %s: refused: browser request; only programs may use this path",
			frame.Path)
	case r.ProtoMajor != 1 || !strings.EqualFold(r.Header.Get("Connection"), "Upgrade") ||
		r.Header.Get("Upgrade") != frame.Protocol:
		return failure.Errorf(wire.ErrBadRequest, "grid: %s: send HTTP/1.1 with Connection: Upgrade and Upgrade: %s",
			frame.Path, frame.Protocol)
	case r.ContentLength != 0:
		return failure.Errorf(wire.ErrBadRequest, "grid: %s: the request has a body; send none", frame.Path)
	}
	return wire.CheckRelease(r.Header)
}

// handleFrames upgrades a connection, which is served in frames from now on. It returns
// immediately, so that the memory and the stack of the HTTP server's connection are free.
func (a *Server) handleFrames(w http.ResponseWriter, r *http.Request) {
	wire.SetRelease(w.Header())
	if err := upgradeError(r); err != nil {
		a.refuse(w, answerKind(r), err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		a.refuse(w, answerKind(r), failure.Errorf(wire.ErrBadRequest, "grid: %s: the connection cannot be upgraded: %w",
			frame.Path, err))
		return
	}
	noteCode(w, codeOK)
	f := &framedRequests{
		server: a, conn: connectionOf(r), handler: a.http.Handler, log: a.cfg.Log, host: strings.Clone(r.Host),
		remote: r.RemoteAddr, release: cloned(r.Header[wire.HeaderRelease]),
		authorization: cloned(r.Header["Authorization"]),
	}
	in := frames.Rest(conn, buffered.Reader)
	ctx := context.WithValue(a.cfg.Life.Context(), connectionKey{}, connectionOf(r))
	if !a.cfg.Life.Go(func() { a.serveFrames(ctx, conn, in, f) }) {
		_ = conn.Close()
	}
}

func (a *Server) serveFrames(ctx context.Context, conn net.Conn, in io.Reader, f *framedRequests) {
	defer func() { _ = conn.Close() }()
	leave, ok := a.framed.add(conn)
	if !ok {
		return
	}
	defer leave()
	_ = conn.SetWriteDeadline(time.Now().Add(bodyTimeout))
	_, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+
		frame.Protocol+"\r\n"+
		wire.HeaderRelease+": "+wire.FormatRelease(wire.OwnRelease())+"\r\n\r\n")
	_ = conn.SetWriteDeadline(time.Time{})
	if err != nil {
		return
	}
	if open := openConnOf(conn); open != nil {
		open.framed = true
	}
	of := frames.Server{Workers: &a.framed.workers, Busy: a.tooManyStreams, Quick: f.quick, Handler: f.serve}
	_ = of.Serve(ctx, conn, in)
}

// tooManyStreams returns the reply to a request beyond the connection's stream limit.
func (a *Server) tooManyStreams() (status int, body []byte) {
	a.counts.shedStreams.Add(1)
	e := wire.ErrorOf(failure.Errorf(sequencer.ErrUnavailable,
		"grid: this connection has %d requests and event streams in progress, the most that it may have",
		frames.StreamsMax), 0)
	body, _ = wire.Encode(wire.MsgPack, e) // it always encodes
	return e.Status(), body
}

// framedRequests serves a connection's requests with the same handlers as HTTP: a framed request
// abbreviates a POST with a msgpack body and the upgrade's headers.
type framedRequests struct {
	server                 *Server
	conn                   *connection
	handler                http.Handler
	log                    *slog.Logger
	host, remote           string
	release, authorization []string
}

func cloned(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Clone(v))
	}
	return out
}

var msgPackHeader = []string{wire.MsgPack}

func (f *framedRequests) serve(w *frames.Writer, r *frames.Request) {
	header := make(http.Header, 8)
	header["Content-Type"] = msgPackHeader
	if f.release != nil {
		header[wire.HeaderRelease] = f.release
	}
	if f.authorization != nil {
		header["Authorization"] = f.authorization
	}
	stated := func(key, value string) {
		if value != "" {
			header[key] = []string{value}
		}
	}
	stated(wire.HeaderTarget, r.Head.Target)
	stated(wire.HeaderGrid, r.Head.Grid)
	stated(wire.HeaderClaim, r.Head.Claim)
	if r.Head.Timeout > 0 {
		stated(wire.HeaderTimeout, strconv.FormatUint(uint64(r.Head.Timeout), 10))
	}
	in := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: r.Head.Path}, Host: f.host, RequestURI: r.Head.Path,
		RemoteAddr: f.remote,
		Proto:      "HTTP/2.0", ProtoMajor: 2, Header: header, Body: io.NopCloser(r.Body),
		ContentLength: int64(r.Head.Length),
	}
	defer f.recovered(w)
	f.handler.ServeHTTP(&framedAnswer{Writer: w, body: r.Body}, in.WithContext(r.Context()))
}

// recovered ends the connection after a handler's panic, as the HTTP server does.
func (f *framedRequests) recovered(request interface{ Abort(error) }) {
	if reason := recover(); reason != nil {
		f.log.Error("request panicked", "reason", fmt.Sprint(reason), "stack", string(debug.Stack()))
		request.Abort(errPanicked)
	}
}

var errPanicked = errors.New("the handler of a request panicked")

// framedAnswer is the answer to a request in frames. Headers of answers stay here: the release
// was stated by the upgrade, and an error has the rest in its body.
type framedAnswer struct {
	*frames.Writer
	body   *frames.Body
	header http.Header
}

func (w *framedAnswer) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *framedAnswer) WriteHeader(status int) { w.SetStatus(status) }

// FlushError lets http.ResponseController send the bytes written so far.
func (w *framedAnswer) FlushError() error { return w.Flush() }

// SetReadDeadline lets http.ResponseController bound the wait for the body.
func (w *framedAnswer) SetReadDeadline(by time.Time) error {
	w.body.SetDeadline(by)
	return nil
}

// SetWriteDeadline lets http.ResponseController have its way: the connection bounds each write.
func (w *framedAnswer) SetWriteDeadline(time.Time) error { return nil }
