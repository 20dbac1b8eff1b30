// Package overhttp makes a client's calls over HTTP, for tests that compare the replies with those
// to calls in frames.
package overhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
)

// Client makes calls of members.
type Client struct {
	http   http.Client
	scheme string
}

// New returns a client. Without credentials it speaks HTTP/2 in clear text.
func New(creds *security.Credentials, addr string) *Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	if creds == nil {
		transport.Protocols.SetUnencryptedHTTP2(true)
		return &Client{http.Client{Transport: transport}, "http://" + addr}
	}
	transport.Protocols.SetHTTP2(true)
	transport.TLSClientConfig = creds.Client(addr).Clone()
	transport.TLSClientConfig.NextProtos = []string{"h2"}
	return &Client{http.Client{Transport: transport}, "https://" + addr}
}

// Close closes the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// CallWith makes a call with a head.
func (c *Client) CallWith(ctx context.Context, head frame.Head, in, out any) error {
	body, err := c.post(ctx, head, in)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	data, err := wire.ReadBody(body)
	if err != nil {
		return err
	}
	return wire.DecodeTolerant(wire.MsgPack, data, out)
}

// Events opens an event stream.
func (c *Client) Events(ctx context.Context, in wire.EventsRequest) (*Stream, error) {
	body, err := c.post(ctx, frame.Head{Path: wire.PathEvents}, in)
	if err != nil {
		return nil, err
	}
	return &Stream{body}, nil
}

// Stream is an event stream.
type Stream struct{ body io.ReadCloser }

// Next waits for the next event.
func (s *Stream) Next() (wire.Event, error) { return wire.ReadEvent(s.body) }

// Close ends the stream.
func (s *Stream) Close() error { return s.body.Close() }

// Pulled is an event stream of a transport.
type Pulled struct {
	events chan wire.Event
	stop   context.CancelFunc
}

// transport is a calls.Transport.
type transport interface {
	Events(ctx context.Context, addr string, in wire.EventsRequest, event func(wire.Event), end func()) error
}

// Pull opens a holder's event stream at an address.
func Pull(ctx context.Context, t transport, addr string, in wire.EventsRequest) (*Pulled, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &Pulled{events: make(chan wire.Event, 1024), stop: stop}
	err := t.Events(ctx, addr, in, func(e wire.Event) { s.events <- e }, func() { close(s.events) })
	if err != nil {
		stop()
		return nil, err
	}
	return s, nil
}

// Next waits for the next event.
func (s *Pulled) Next() (wire.Event, error) {
	e, open := <-s.events
	if !open {
		return e, io.EOF
	}
	return e, nil
}

// Close ends the stream.
func (s *Pulled) Close() error {
	s.stop()
	return nil
}

// post returns the body of a reply, or the error in it.
func (c *Client) post(ctx context.Context, head frame.Head, in any) (io.ReadCloser, error) {
	data, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.scheme+head.Path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", wire.MsgPack)
	wire.SetRelease(req.Header)
	for key, value := range map[string]string{wire.HeaderTarget: head.Target, wire.HeaderGrid: head.Grid,
		wire.HeaderClaim: head.Claim} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer func() { _ = res.Body.Close() }()
	data, err = wire.ReadBody(res.Body)
	if err != nil {
		return nil, err
	}
	var e wire.Error
	if err := wire.DecodeTolerant(wire.MsgPack, data, &e); err != nil {
		return nil, errors.Join(errors.New(res.Status), err)
	}
	return nil, e.Unwire()
}
