package calls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// handshakeTimeout bounds the TLS handshake on a new connection. As with the upgrade, it has to
// suffice for a member with little processor time: another dial costs more.
const handshakeTimeout = upgradeTimeout

// IsCut reports whether a connection ended in the middle of a call, or right after it was opened.
func IsCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// explain adds the likely causes and their remedies to the error of an upgrade that was not answered
// as a member answers it. A server that speaks TLS ends a connection in clear text, sends an alert,
// or answers 400. A timeout says nothing about the server.
func (p *Pool) explain(err error) error {
	var network net.Error
	switch timeout := errors.As(err, &network) && !IsCut(err); {
	case timeout || p.creds != nil && IsCut(err):
		return err
	case p.creds == nil:
		return fmt.Errorf("%w; give Security (--security-dir) if the grid has certificates, since a server that speaks TLS "+
			"answers clear text like this; else check that this is a snowgrid API address, and that no proxy on the way "+
			"removes upgrades", err)
	}
	return fmt.Errorf("%w; check that this is a snowgrid API address, and that no proxy on the way removes upgrades", err)
}

// errOtherProtocol reports a TLS server that is not a member's API.
var errOtherProtocol = errors.New("the server speaks no HTTP/1.1 over TLS: check that this is a snowgrid API address")

// dialTLS opens a connection with the current credentials.
func (p *Pool) dialTLS(ctx context.Context, addr string) (net.Conn, error) {
	raw, err := p.dialClear(ctx, addr)
	if err != nil {
		return nil, err
	}
	kept := &keptConn{Conn: raw}
	conn := tls.Client(kept, p.creds.Client(addr))
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != "http/1.1" { // as before the upgrade to frames
		_ = raw.Close()
		return nil, errOtherProtocol
	}
	kept.forget = p.creds.Called(&state).Keep(func(error) { _ = raw.Close() })
	return conn, nil
}

// keptConn is a connection whose member is verified again while it is open.
type keptConn struct {
	net.Conn
	forget func() // nil until the handshake has ended
}

func (c *keptConn) Close() error {
	if c.forget != nil {
		c.forget()
	}
	return c.Conn.Close()
}
