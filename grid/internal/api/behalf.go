package api

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/wire"
)

type behalfKey struct{}

// CallerOf returns the caller of a request for another member to which that is passed on, nil
// for this process.
func CallerOf(ctx context.Context) *wire.Caller {
	if _, remote := ctx.Value(connectionKey{}).(*connection); !remote {
		return nil
	}
	c := wire.CallerOf(PeerOf(ctx), RemoteOf(ctx))
	return &c
}

// OnBehalf returns the context of a request relayed by a member, with the original caller. The path's
// action admits only members, since the relay may state any caller.
func OnBehalf(ctx context.Context, first wire.Caller) context.Context {
	c := caller{peer: first.Peer()}
	ctx = context.WithValue(context.WithValue(ctx, behalfKey{}, first), callerKey{}, c)
	return context.WithValue(ctx, whoKey{}, whoIs(first.Remote, c.peer))
}
