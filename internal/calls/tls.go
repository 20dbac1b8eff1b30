package calls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

// handshakeTimeout bounds the TLS handshake on a new connection. As with the upgrade, it has to
// suffice for a member with little processor time: another dial costs more.
const handshakeTimeout = upgradeTimeout

// isCut reports whether a connection ended in the middle of a call, or right after it was opened.
func isCut(err error) bool {
	for _, cut := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, cut) {
			return true
		}
	}
	return strings.HasSuffix(err.Error(), notEstablished)
}

// explainCut adds the likely cause and its remedy to the error of a connection in clear text that
// ended before an answer.
func (h *HTTP) explainCut(err error) error {
	if h.creds != nil || !isCut(err) {
		return err
	}
	return fmt.Errorf("the connection ended before the answer, as a member that speaks TLS ends one in clear text: "+
		"give Security (--security-dir) if the grid has certificates: %w", err)
}

// notEstablished is the text of net/http's error about a connection that ended before the first
// call on it. That error has no name.
const notEstablished = "http2: client conn could not be established"

// errNoHTTP2 reports a TLS server that is not a member's API.
var errNoHTTP2 = errors.New("the server speaks no HTTP/2 over TLS: check that this is a snowgrid API address")

// errOtherProtocol reports a TLS server without HTTP/1.1.
var errOtherProtocol = errors.New("the server speaks no HTTP/1.1 over TLS")

// dialTLS opens a connection for a protocol, h2 or http/1.1, with the current credentials.
func (h *HTTP) dialTLS(ctx context.Context, addr, protocol string) (net.Conn, error) {
	raw, err := h.dialInTurn(ctx, addr)
	if err != nil {
		return nil, err
	}
	kept := &keptConn{Conn: raw}
	conn := tls.Client(kept, h.creds.ClientOver(protocol, addr))
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protocol {
		_ = raw.Close()
		if protocol == "h2" {
			return nil, errNoHTTP2
		}
		return nil, errOtherProtocol
	}
	kept.forget = h.creds.Called(&state).Keep(func(error) { _ = raw.Close() })
	return conn, nil
}

// keptConn is a connection whose member is verified again while it is open.
type keptConn struct {
	net.Conn
	forget func() // nil until the handshake has ended
}

// Close implements net.Conn.
func (c *keptConn) Close() error {
	if c.forget != nil {
		c.forget()
	}
	return c.Conn.Close()
}
