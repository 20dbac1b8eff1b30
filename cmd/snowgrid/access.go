package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/tcp"
	"github.com/snowgrid/snowgrid/security"
)

// access holds the means by which a command reaches members: clear text, or TLS with a certificate or
// a token.
type access struct {
	scheme string
	token  string
	http   *http.Client
}

const (
	// handshakeTimeout bounds one handshake with a member.
	handshakeTimeout = 5 * time.Second
	// meetTimeout bounds the first call to a member; a failure within it is not final.
	meetTimeout = 2 * time.Second
)

// clearText reaches members that run without security. Like all calls to members it takes no
// proxy from the environment: a member is not reached through one.
var clearText = &access{scheme: "http", http: &http.Client{CheckRedirect: noRedirect, Transport: &http.Transport{
	DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return tcp.Dial(ctx, net.Dialer{}, addr)
	}, DisableKeepAlives: true,
}}}

// openAccess returns the access that a configuration states; nil is clear text.
func openAccess(cfg *security.Config) (*access, error) {
	if cfg == nil {
		return clearText, nil
	}
	creds, err := security.Load(*cfg, security.Admin)
	if err != nil {
		return nil, usage(err)
	}
	transport := &http.Transport{
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return dialTLS(ctx, creds, addr)
		},
		DisableKeepAlives: true, // a command makes a few calls
	}
	return &access{scheme: "https", token: cfg.Token,
		http: &http.Client{Transport: transport, CheckRedirect: noRedirect}}, nil
}

// keptAlive returns the same access for many calls: it keeps up to n connections to each member.
func (a *access) keptAlive(n int) *access {
	kept, client := *a, *a.http
	transport := a.http.Transport.(*http.Transport).Clone() //nolint:forcetypeassert // of both kinds of access
	transport.DisableKeepAlives, transport.MaxIdleConnsPerHost = false, n
	client.Transport, kept.http = transport, &client
	return &kept
}

// noRedirect keeps requests, and the token in them, at the original address.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// dialTLS opens a connection to a member that both sides trust.
func dialTLS(ctx context.Context, creds *security.Credentials, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := tcp.Dial(ctx, net.Dialer{}, addr)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, creds.Client(addr))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

func (a *access) do(request *http.Request) (*http.Response, error) {
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.http.Do(request)
	refused := err == nil && response.StatusCode == http.StatusBadRequest && !response.ProtoAtLeast(1, 1)
	if a.scheme == "http" && (refused || calls.IsCut(err)) && speaksTLS(request.Context(), request.URL.Host) {
		if refused {
			_ = response.Body.Close()
		}
		return nil, expectsTLS(request.URL.Host)
	}
	if err != nil {
		return nil, explained(request.URL.Host, err)
	}
	return response, nil
}

// accessKey is an access's key in a context, so that requests carry their credentials.
type accessKey struct{}

// withAccess returns a context that makes calls to members use a.
func withAccess(ctx context.Context, a *access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// accessOf returns a context's access; clear text if it has none.
func accessOf(ctx context.Context) *access {
	if a, found := ctx.Value(accessKey{}).(*access); found {
		return a
	}
	return clearText
}

// notTrustedError reports that the process at an address and this one do not trust each other.
type notTrustedError struct {
	addr, reason string
	cause        error
}

func (e *notTrustedError) Error() string { return e.addr + ": " + e.reason }

func (e *notTrustedError) Unwrap() error { return e.cause }

// explained returns the error for a request without an answer.
func explained(addr string, err error) error {
	if sentence := security.Explain(err); sentence != err.Error() {
		return &notTrustedError{addr: addr, reason: sentence, cause: err}
	}
	return &notAnsweredError{addr: addr, cause: err}
}

// isNotTrusted reports whether err means that two processes do not trust each other.
func isNotTrusted(err error) bool {
	_, is := errors.AsType[*notTrustedError](err)
	return is
}

// reach returns a context that makes calls use the access set by the flags.
func (f *accessFlags) reach(ctx context.Context) (context.Context, error) {
	cfg, err := f.security()
	if err != nil {
		return nil, err
	}
	a, err := openAccess(cfg)
	if err != nil {
		return nil, err
	}
	return withAccess(ctx, a), nil
}

// meet returns an error if no member at the addresses and the caller trust each other. Other errors are left to
// the calls that follow, which repeat them for a while; these do not go away.
func meet(ctx context.Context, addrs []string) error {
	_, err := eachUntilAnswered(ctx, addrs, func(ctx context.Context, addr string) error {
		ctx, cancel := context.WithTimeout(ctx, meetTimeout)
		defer cancel()
		_, err := read(ctx, addr, "/livez")
		return err
	})
	if isNotTrusted(err) {
		return err
	}
	return nil
}

// expectsTLS returns the error for a clear-text request to a member that expects TLS.
func expectsTLS(addr string) error {
	return &notTrustedError{addr: addr,
		reason: "the member expects TLS: give --security-dir (SNOWGRID_SECURITY_DIR), or --tls-ca with a certificate or a " +
			"token"}
}

// speaksTLS reports whether addr accepts TLS. It verifies nothing and sends nothing.
func speaksTLS(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, meetTimeout)
	defer cancel()
	conn, err := tcp.Dial(ctx, net.Dialer{}, addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	//nolint:gosec // the connection carries no data
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) == nil
}
