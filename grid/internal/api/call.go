package api

import (
	"context"
	"net/url"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Call is one call of the API: how its request is decoded, and the function that serves it.
type Call struct {
	path   string
	decode func(kind string, body []byte) (any, error)
	serve  func(ctx context.Context, in any) (any, error)
	// start is serve without waiting: reply is called once, from any goroutine. nil: the call may have to wait.
	start   func(ctx context.Context, in any, reply func(any, error))
	query   func(url.Values) (any, error) // reads the request of GET; nil: it is not served
	remove  *Call                         // serves DELETE; nil: it is not served
	deliver func(out, result any)         // stores a result for a local caller
	// unrelayed returns a request without the fields that only a relaying member may set.
	unrelayed func(in any) any
	target    bool // only for members that address this one
	members   bool // ... as one of their grid
	large     bool // its answer is large, whatever its request is
	anyStart  bool // the address may be this member's ID, for whichever start is here
	// anyClaim accepts members with a roster under another anchor claim.
	anyClaim bool
}

// Starting makes a call out of a function that serves a request without waiting, as requests in frames are served.
// It calls reply once, from any goroutine.
func Starting[In, Out any](path string, start func(ctx context.Context, in In, reply func(Out, error))) *Call {
	c := Typed(path, func(ctx context.Context, in In) (Out, error) { return Await(ctx, in, start) })
	c.start = func(ctx context.Context, in any, reply func(any, error)) {
		start(ctx, in.(In), func(out Out, err error) { reply(&out, err) })
	}
	return c
}

// Await serves a request by a function as [Starting] takes, and waits for the reply.
func Await[In, Out any](ctx context.Context, in In, start func(ctx context.Context, in In,
	reply func(Out, error))) (out Out, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	start(ctx, in, func(o Out, e error) { out, err = o, e; close(done) })
	<-done
	return out, err
}

// Typed makes a call out of a function.
func Typed[In, Out any](path string, serve func(ctx context.Context, in In) (Out, error)) *Call {
	return &Call{
		path: path,
		decode: func(kind string, body []byte) (any, error) {
			var in In
			err := wire.DecodeRequest(kind, body, &in)
			return in, err
		},
		serve:   func(ctx context.Context, in any) (any, error) { return serve(ctx, in.(In)) },
		deliver: func(out, result any) { *out.(*Out) = result.(Out) },
		unrelayed: func(in any) any {
			own := in.(In)
			if r, relayed := any(&own).(wire.Relayed); relayed {
				*r.Via() = wire.Relay{}
			}
			return own
		},
	}
}

// ForTarget marks a call between members that need not be in a grid yet.
func (c *Call) ForTarget() *Call { c.target = true; return c }

// ForMembers marks a call between members of a grid.
func (c *Call) ForMembers() *Call { c.target, c.members = true, true; return c }

// OfAnyClaim marks a call that lets a member catch up or leave: its roster may be under an earlier
// claim of an anchored grid.
func (c *Call) OfAnyClaim() *Call { c.anyClaim = true; return c }

// OfAnyStart marks a call that a member's ID addresses too, whichever start is here: the answer names it.
func (c *Call) OfAnyStart() *Call { c.anyStart = true; return c }

// Deleting adds the call that serves DELETE at the same path.
func (c *Call) Deleting(d *Call) *Call { c.remove = d; return c }

// WithLargeAnswer limits a connection to one such call at a time.
func (c *Call) WithLargeAnswer() *Call { c.large = true; return c }

// CheckName refuses a name that no sequencer can have.
func CheckName(name string) error {
	_, err := sequencer.Define(name, sequencer.Config{})
	return err
}
