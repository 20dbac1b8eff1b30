package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
)

// MemberTimeout bounds one call between members.
const MemberTimeout = time.Second

// Caller makes calls to other members.
type Caller struct {
	HTTP    *calls.Pool
	Grid    func() roster.GridID // this member's, zero for none
	Claim   func() roster.Claim  // of its roster
	Library *librarylog.Log
	// Refusals, if not nil, receives the calls that a certificate ended.
	Refusals *Refusals
	// Hold, if not nil, returns when calls may be made, or when done is closed. Open reports
	// whether it returns immediately.
	Hold func(done <-chan struct{})
	Open func() bool
}

// Hello fetches a member's view.
func (c Caller) Hello(ctx context.Context, addr string, target roster.Incarnation) (wire.HelloResponse, error) {
	var res wire.HelloResponse
	err := c.Call(ctx, addr, target, wire.PathHello, wire.HelloRequest{}, &res)
	if err == nil {
		err = res.Release.Check()
	}
	return res, err
}

// Call makes one call to one incarnation of another member.
func (c Caller) Call(ctx context.Context, addr string, target roster.Incarnation, path string, in, out any) error {
	return c.CallWithin(ctx, MemberTimeout, addr, target, path, in, out)
}

// CallWithin is call with a bound of its own.
func (c Caller) CallWithin(ctx context.Context, limit time.Duration, addr string, target roster.Incarnation,
	path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if c.Hold != nil {
		c.Hold(ctx.Done())
	}
	err := c.HTTP.CallWith(ctx, addr, c.head(target, path), in, out)
	if librarylog.IsTLS(err) {
		c.Refusals.note(err)
		c.Library.Report(slog.LevelWarn, "member call failed", "certificates of the members do not match", "addr", addr,
			"error", err.Error())
	}
	return err
}

// StartCall makes one call to one incarnation of another member, as [Caller.Call] does, and does
// not wait: done is called once, and must not wait either. It reports false, and calls nothing,
// if the call would have to wait; Call has to make it then.
func StartCall[In, Out any](c Caller, addr string, target roster.Incarnation, path string, in In,
	done func(Out, error)) bool {
	if c.Open != nil && !c.Open() {
		return false
	}
	return calls.StartCall(c.HTTP, addr, c.head(target, path), MemberTimeout, in, done)
}

func (c Caller) head(target roster.Incarnation, path string) frame.Head {
	return frame.Head{Path: path, Target: string(target), Grid: c.Grid().String(), Claim: string(c.Claim())}
}

type behalfKey struct{}

// CallerOf returns the caller of a request for another member to which that is passed on, nil
// for this process.
func CallerOf(ctx context.Context) *wire.Caller {
	if _, remote := ctx.Value(connectionKey{}).(*connection); !remote {
		return nil
	}
	return new(wire.CallerOf(PeerOf(ctx), RemoteOf(ctx)))
}

// OnBehalf returns the context of a request relayed by a member, with the original caller. The path's
// action admits only members, since the relay may state any caller.
func OnBehalf(ctx context.Context, first wire.Caller) context.Context {
	c := caller{peer: first.Peer()}
	ctx = context.WithValue(context.WithValue(ctx, behalfKey{}, first), callerKey{}, c)
	return context.WithValue(ctx, whoKey{}, whoIs(first.Remote, c.peer))
}
