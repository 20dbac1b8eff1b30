package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/security"
)

// Tokens verify the tokens of callers without a certificate. Errors match
// security.ErrUnauthenticated.
type Tokens interface {
	Peer(token string) (security.Peer, error)
}

type remote interface {
	// Peer returns who it is, by the authorities that are trusted now and at the present time.
	Peer() (security.Peer, error)
}

// caller identifies a request's sender, or holds the reason to refuse it.
type caller struct {
	peer security.Peer
	err  error // the certificate or the token is not valid
	// token is set if the caller gave a token. A bad token is refused for every action.
	token bool
}

type (
	callerKey struct{}
	whoKey    struct{}
)

func (a *Server) identified(r *http.Request) context.Context {
	c := a.callerOf(connectionOf(r), r.Header.Get("Authorization"))
	return context.WithValue(context.WithValue(r.Context(), callerKey{}, c), whoKey{},
		whoIs(RemoteOf(r.Context()), c.peer))
}

func whoIs(remote string, p security.Peer) string {
	if p.ID == "" {
		return remote
	}
	return remote + " " + p.String()
}

// callerOf returns a request's caller, by the connection's certificate or, without one, the token in
// the Authorization header.
func (a *Server) callerOf(conn *connection, header string) caller {
	if a.cfg.Security == nil {
		return caller{peer: security.Everyone()}
	}
	if who := conn.who; who != nil {
		peer, err := who.Peer()
		if err != nil {
			return caller{err: err}
		}
		if peer.ID != "" {
			return caller{peer: peer}
		}
	}
	if header == "" {
		return caller{}
	}
	peer, err := a.peerOfToken(header)
	if err != nil {
		return caller{err: err, token: true}
	}
	return caller{peer: peer, token: true}
}

func (a *Server) peerOfToken(header string) (security.Peer, error) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return security.Peer{}, failure.Errorf(security.ErrUnauthenticated,
			"grid: Authorization: give Bearer and a token (snowgrid secure token)")
	}
	if a.cfg.Tokens == nil {
		return security.Peer{}, failure.Errorf(security.ErrUnauthenticated,
			"grid: this member takes no tokens: it has no file of their keys (%s); use a certificate", security.TokensFile)
	}
	return a.cfg.Tokens.Peer(strings.TrimSpace(token))
}

// untilExpiry returns a context that ends when a request's token must be verified again: at its
// expiry, and when the token keys may have changed. A connection by certificate ends when the
// certificate does.
func (a *Server) untilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	c := callerIn(ctx)
	if !c.token {
		return ctx, func() {}
	}
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(c.peer.Expires.Sub(a.cfg.Security.Now())))
	go func() {
		defer cancel()
		select {
		case <-a.cfg.Security.Changed():
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// PeerOf returns a request's caller: by certificate or token, security.Everyone if the member runs
// without security, or security.Self for a call from its own process.
func PeerOf(ctx context.Context) security.Peer { return callerIn(ctx).peer }

// callerIn returns the caller in a context. An unidentified remote caller has no role.
func callerIn(ctx context.Context) caller {
	if c, found := ctx.Value(callerKey{}).(caller); found {
		return c
	}
	if _, remote := ctx.Value(connectionKey{}).(*connection); remote {
		return caller{}
	}
	return caller{peer: security.Self()}
}

// Authorize returns nil if a request's caller may perform an action on the named sequencer; name is ""
// for actions without one. The audit log records each denial. Errors match security.ErrUnauthenticated
// or security.ErrDenied.
func Authorize(ctx context.Context, lines *audit.Log, action security.Action, name string) error {
	c := callerIn(ctx)
	err := security.Authorize(c.peer, action, name)
	if c.err != nil && (err != nil || c.token) {
		err = c.err
	}
	if err != nil {
		lines.Write(audit.Entry{Action: string(action), Name: name, Who: WhoOf(ctx), Err: err})
	}
	return err
}

// authorize authorizes a request by its path and method, before anything of it is read.
func (a *Server) authorize(r *http.Request) error {
	row, found := accessOf(r.Method, r.URL.Path)
	if !found {
		return failure.Errorf(security.ErrDenied, "grid: %s: no role may call this path", r.URL.Path)
	}
	return Authorize(r.Context(), a.cfg.Audit, row.action, "")
}

// authorizeUses authorizes each use of a sequencer that a decoded request names, and
// counts it as a call about that. Renewals name none here, and so cost nothing.
func (a *Server) authorizeUses(ctx context.Context, method, path string, in any) error {
	row, _ := accessOf(method, path)
	if row.uses == nil {
		return nil
	}
	uses := row.uses(in)
	for _, u := range uses {
		if err := Authorize(ctx, a.cfg.Audit, u.action, u.name); err != nil {
			return err
		}
	}
	charged := ""
	for _, u := range uses {
		if u.name == charged || a.cfg.Charge == nil { // one call, even if it also creates the sequencer
			continue
		}
		charged = u.name
		if err := a.cfg.Charge(ctx, u.action, u.name); err != nil {
			return err
		}
	}
	return nil
}
