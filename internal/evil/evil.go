// Package evil is a process that attacks a grid: it speaks the protocols of members and
// holders by hand, with whatever credential it has, or in clear text. Tests use it to show what
// is refused. All that it knows of its victims is in any member's status.
package evil

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// patience bounds one request.
const patience = 10 * time.Second

// Attacker is a process with one credential.
type Attacker struct {
	Name string
	// Role is that of its certificate, if members believe that.
	Role security.Role
	// Names limit the role, which matters for an admin: it may do nothing to the whole grid then.
	Names []security.Pattern
	// Refusal is the error of its requests: security.ErrDenied with a certificate that
	// members believe, security.ErrUnauthenticated without any, else ErrUnwelcome.
	Refusal error
	// TLS has its certificate; nil: it speaks clear text.
	TLS *tls.Config
	// Dial opens connections.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	kept *http.Transport // of Keep
}

// Keep makes requests share connections until the returned function closes them: a handshake costs several
// times as much as a request.
func (a *Attacker) Keep() (release func()) {
	a.kept = a.transport()
	return a.kept.CloseIdleConnections
}

// transport returns a transport over the attacker's connections.
func (a *Attacker) transport() *http.Transport {
	dial := func(ctx context.Context, _, addr string) (net.Conn, error) { return a.Connect(ctx, addr) }
	return &http.Transport{DialContext: dial, DialTLSContext: dial}
}

// ErrUnwelcome says that a connection ended before a member read a request.
var ErrUnwelcome = errors.New("evil: no connection")

// Identified reports whether members believe its certificate.
func (a *Attacker) Identified() bool { return a.Role != security.NoRole }

// May reports whether its role has the right to an action, of some sequencer at least.
func (a *Attacker) May(action security.Action) bool {
	return security.Authorize(security.Peer{Role: a.Role, Names: a.Names, ID: "cert:"}, action, "") == nil
}

// IsRefusal reports whether an error is the one that this attacker has to get.
func (a *Attacker) IsRefusal(err error) bool { return errors.Is(err, a.Refusal) }

// Connect opens a connection, over TLS if the attacker speaks it.
func (a *Attacker) Connect(ctx context.Context, addr string) (net.Conn, error) {
	raw, err := a.Dial(ctx, addr)
	if err != nil || a.TLS == nil {
		return raw, err
	}
	conn := tls.Client(raw, a.TLS)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnwelcome, err)
	}
	return conn, nil
}

// Do sends a request, on a connection of its own unless Keep was called. It returns nil for 200 OK, else the error in
// the answer, or one that matches ErrUnwelcome. A header Host replaces the address.
func (a *Attacker) Do(ctx context.Context, addr, method, path string, header http.Header, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	scheme := "https://"
	if a.TLS == nil {
		scheme = "http://"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+addr+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for key, values := range header {
		req.Header[key] = values
	}
	req.Host = header.Get("Host")
	t := a.kept
	if t == nil {
		t = a.transport()
		t.DisableKeepAlives = true
		defer t.CloseIdleConnections()
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnwelcome, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnwelcome, err)
	}
	if res.StatusCode == http.StatusOK {
		return text, nil
	}
	var e wire.Error
	if err := wire.DecodeTolerant(res.Header.Get("Content-Type"), text, &e); err != nil || e.Code == "" {
		return nil, fmt.Errorf("%w: %s: %.200s", ErrUnwelcome, res.Status, text)
	}
	return nil, e.Unwire()
}

// Target is a member, as its status shows it.
type Target struct {
	API, Raft string
	Grid      string
	Member    roster.Incarnation
	Server    string // its Raft server ID
}

// Call calls a member as another member would.
func (a *Attacker) Call(ctx context.Context, to Target, path string, in any) error {
	return a.Ask(ctx, to, path, in, &struct{}{})
}

// Ask is Call with an answer.
func (a *Attacker) Ask(ctx context.Context, to Target, path string, in, out any) error {
	body, err := wire.Encode(wire.MsgPack, in)
	if err != nil {
		return err
	}
	header := http.Header{"Content-Type": {wire.MsgPack}}
	header.Set(wire.HeaderTarget, string(to.Member))
	header.Set(wire.HeaderGrid, to.Grid)
	answer, err := a.Do(ctx, to.API, http.MethodPost, path, header, body)
	if err != nil {
		return err
	}
	return wire.DecodeTolerant(wire.MsgPack, answer, out)
}

// Trusting returns a configuration that trusts an authority and shows a certificate, if there
// is one, whatever authorities the other side names.
func Trusting(a *authority.Authority, shown ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.Certificate())
	conf := &tls.Config{RootCAs: pool, ServerName: security.MemberServerName, MinVersion: tls.VersionTLS12}
	if len(shown) > 0 {
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown[0], nil }
	}
	return conf
}

// Issue returns a new certificate of an authority.
func Issue(by *authority.Authority, now time.Time, r authority.Request) (tls.Certificate, error) {
	text, key, err := by.Issue(r, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(text, key)
}
