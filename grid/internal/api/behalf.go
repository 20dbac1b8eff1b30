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

// OnBehalf returns the context of a request that a member has passed on: its caller is the one
// that the member had. The member has to be one, which the action of the path checks, since it
// may state any caller.
func OnBehalf(ctx context.Context, first wire.Caller) context.Context {
	c := caller{peer: first.Peer()}
	ctx = context.WithValue(context.WithValue(ctx, behalfKey{}, first), callerKey{}, c)
	return context.WithValue(ctx, whoKey{}, whoIs(first.Remote, c.peer))
}
