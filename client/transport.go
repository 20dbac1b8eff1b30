package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/grid/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Transport carries calls to members by the addresses of their APIs.
type Transport interface {
	// Call sends in to path and decodes the answer into out. An error that
	// the member answered matches the sentinel it was made from.
	Call(ctx context.Context, addr, path string, in, out any) error
	// Events opens a holder's event stream; it ends with ctx.
	Events(ctx context.Context, addr string, in wire.EventsRequest) (Stream, error)
}

// Stream is an open event stream.
type Stream interface {
	Next() (wire.Event, error) // waits for the next event
	Close() error
}

// HTTP is the transport over HTTP/2, in clear text or TLS: one connection to a
// member carries all calls and the event stream.
type HTTP struct {
	scheme string
	base   *http.Transport
	lanes  lanes
}

// NewHTTP returns a transport that opens connections by dial, and speaks TLS on
// them if conf is not nil.
func NewHTTP(dial func(ctx context.Context, addr string) (net.Conn, error), conf *tls.Config) *HTTP {
	var protocols http.Protocols
	h := &HTTP{scheme: "http"}
	if conf == nil {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		h.scheme = "https"
		protocols.SetHTTP2(true)
	}
	h.base = &http.Transport{
		Protocols:           &protocols,
		TLSClientConfig:     conf.Clone(),
		TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout:     time.Minute,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return dial(ctx, addr)
		},
		HTTP2: &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: 2 * time.Second},
	}
	return h
}

// Close closes the connections that no call uses.
func (h *HTTP) Close() { h.base.CloseIdleConnections() }

// Call implements Transport.
func (h *HTTP) Call(ctx context.Context, addr, path string, in, out any) error {
	return h.CallWith(ctx, addr, path, http.Header{}, in, out)
}

// CallWith is Call with headers, which it adds to.
func (h *HTTP) CallWith(ctx context.Context, addr, path string, header http.Header, in, out any) error {
	done, err := h.lanes.enter(ctx, addr, path)
	if err != nil {
		return unreachable(addr, err)
	}
	defer done()
	res, err := h.post(ctx, addr, path, header, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := wire.ReadBody(res.Body)
	if err != nil {
		return unreadable(addr, res.StatusCode, err)
	}
	if res.StatusCode != http.StatusOK {
		return answered(addr, res.StatusCode, data)
	}
	if err := wire.DecodeTolerant(wire.MsgPack, data, out); err != nil {
		return unreadable(addr, res.StatusCode, err)
	}
	return nil
}

// Events implements Transport.
func (h *HTTP) Events(ctx context.Context, addr string, in wire.EventsRequest) (Stream, error) {
	res, err := h.post(ctx, addr, wire.PathEvents, http.Header{}, in)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		data, err := wire.ReadBody(res.Body)
		if err != nil {
			return nil, unreadable(addr, res.StatusCode, err)
		}
		return nil, answered(addr, res.StatusCode, data)
	}
	return httpStream{res.Body}, nil
}

func (h *HTTP) post(ctx context.Context, addr, path string, header http.Header, in any) (*http.Response, error) {
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.scheme+"://"+addr+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sequencer.ErrInvalidConfig, err)
	}
	req.Header = header
	req.Header.Set("Content-Type", wire.MsgPack)
	res, err := h.base.RoundTrip(req)
	if err != nil {
		return nil, unreachable(addr, err)
	}
	return res, nil
}

// unreachable wraps what kept a call from being answered.
func unreachable(addr string, err error) error {
	return fmt.Errorf("%w: member at %s: %w", sequencer.ErrUnavailable, addr, err)
}

// answered returns the error in an answer's body.
func answered(addr string, status int, body []byte) error {
	var e wire.Error
	if err := wire.DecodeTolerant(wire.MsgPack, body, &e); err != nil || e.Code == "" {
		return unreadable(addr, status, errors.New("it carries no error of snowgrid"))
	}
	return e.Unwire()
}

// unreadable is an answer that makes no sense. What is wrong with it is not
// wrapped: it says nothing about the request.
func unreadable(addr string, status int, err error) error {
	return unreachable(addr, fmt.Errorf("its answer, of HTTP status %d, is of no use: %s; is this a snowgrid API address?", status, err.Error()))
}

type httpStream struct{ body io.ReadCloser }

func (s httpStream) Next() (wire.Event, error) { return wire.ReadEvent(s.body) }
func (s httpStream) Close() error              { return s.body.Close() }
