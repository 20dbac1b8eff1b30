package host

import (
	"context"
	"crypto/rand"
	"math"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// grantCalls serves generators over HTTP (docs/grants.md). A grant is an attachment whose holder keeps a
// token in place of its own state. Each has a holder of its own.
type grantCalls struct{ h *Host }

// grant takes a logical node for a generator, or renews its grant. It relays the request to the owner.
func (g grantCalls) grant(ctx context.Context, in wire.GrantRequest) (wire.GrantResponse, error) {
	name, token, err := in.Target()
	if err == nil {
		err = api.CheckName(name)
	}
	if err != nil {
		return wire.GrantResponse{}, err
	}
	path := wire.PathRelayGrant
	if in.Grant != "" {
		path = wire.PathRelayRenewal
		if err := api.Authorize(ctx, g.h.cfg.Audit, security.Renew, name); err != nil {
			return wire.GrantResponse{}, err
		}
	}
	return atOwner(ctx, g.h, name, path, wire.RelayGrantRequest{Caller: api.CallerOf(ctx), Grant: &in},
		func() (wire.GrantResponse, error) { return g.grantHere(ctx, in, token) })
}

func (g grantCalls) grantHere(ctx context.Context, in wire.GrantRequest, token wire.GrantToken) (wire.GrantResponse,
	error) {
	if in.Grant == "" {
		return g.takeHere(ctx, in)
	}
	return g.renewHere(ctx, in, token)
}

func (g grantCalls) takeHere(ctx context.Context, in wire.GrantRequest) (wire.GrantResponse, error) {
	if err := aboutOf(in).Check(); err != nil {
		return wire.GrantResponse{}, err
	}
	var of wire.SequencerResponse
	var err error
	if c := in.Create; c != nil {
		of, err = g.h.createHere(ctx, wire.CreateRequest{Name: in.Name, Epoch: c.Epoch, Nodes: c.Nodes, Layout: c.Layout,
			NodeRange: c.NodeRange})
	} else {
		of, err = g.h.Open(ctx, wire.OpenRequest{Name: in.Name})
	}
	if err != nil {
		return wire.GrantResponse{}, err
	}
	token := wire.GrantToken{Sequencer: of.Sequencer, Grid: of.Grid, Version: of.Version}
	_, _ = rand.Read(token.Secret[:])
	claim := token.Claim()
	claim.Node = nil
	return g.attach(ctx, in, token, claim)
}

// renewHere renews a grant at the owner. If another holder has the logical node, the grant gets another node.
func (g grantCalls) renewHere(ctx context.Context, in wire.GrantRequest, token wire.GrantToken) (wire.GrantResponse,
	error) {
	holder, about := token.Holder(), aboutOf(in)
	if err := about.Check(); err != nil {
		return wire.GrantResponse{}, err
	}
	claim, err := claimOf(ctx, token.Claim())
	if err != nil {
		return wire.GrantResponse{}, err
	}
	g.h.setQuota(ctx, &claim)
	g.h.noteHolder(ctx, holder, about)
	g.h.noteUsed([]wire.Used{{Name: token.Sequencer.Name, IDs: in.Used.IDs, Waits: in.Used.Waits}})
	renewed, stamp, err := askOwner(ctx, g.h, token.Sequencer.Name,
		func(o *partition.Machine, v partition.View, reply func([]partition.Renewed, error)) {
			o.Renew(v, holder, []partition.Claim{claim}, reply)
		})
	if err == nil {
		err = renewed[0].Err
		g.h.noteEarlier(ctx, claim, err)
	}
	if err == nil {
		return g.granted(token, token.Node, renewed[0].Grant, stamp)
	}
	if !partition.LostNode(err) {
		return wire.GrantResponse{}, err
	}
	next := token.Next()
	in.Labels = nil // they are noted
	out, err := g.attach(ctx, in, next, next.Claim())
	out.Replaced = err == nil && out.Node != token.Node
	return out, err
}

func (g grantCalls) attach(ctx context.Context, in wire.GrantRequest, token wire.GrantToken,
	claim wire.Claim) (wire.GrantResponse, error) {
	a, err := g.h.Attach(ctx, wire.AttachRequest{Holder: token.Holder(), Claim: claim, About: aboutOf(in)})
	if err != nil {
		return wire.GrantResponse{}, err
	}
	return g.granted(token, a.Node, a.Grant, a.Stamp)
}

func (g grantCalls) granted(token wire.GrantToken, node sequencer.NodeID, grant attachment.Grant,
	stamp wire.Stamp) (wire.GrantResponse, error) {
	window, pace := g.h.state.Roster().Settings.Window, clustertime.Span(0)
	if g.h.cfg.Stretch != nil { // up to half of the window at a busy member
		pace = clustertime.SpanOf(stretched(window.Duration(), g.h.cfg.Stretch()))
	}
	out, err := wire.GrantResponseOf(token.Sequencer, node, grant, stamp.Time, window, pace)
	out.Grant = token.With(node, grant, stamp).String()
	return out, err
}

func aboutOf(in wire.GrantRequest) *wire.About {
	if len(in.Labels) == 0 {
		return nil
	}
	return &wire.About{Labels: in.Labels}
}

// release releases a grant. It relays the request to the owner.
func (g grantCalls) release(ctx context.Context, in wire.GrantRelease) (wire.GrantReleased, error) {
	token, err := wire.ParseGrantToken(in.Grant)
	if err == nil {
		err = api.Authorize(ctx, g.h.cfg.Audit, security.Detach, token.Sequencer.Name)
	}
	if last := in.Last; err == nil && last != nil && *last < 0 {
		err = failure.Errorf(wire.ErrBadRequest, "grid: last is %d; give the timestamp of the last ID, or 0 for none", *last)
	}
	if err != nil {
		return wire.GrantReleased{}, err
	}
	_, err = atOwner(ctx, g.h, token.Sequencer.Name, wire.PathRelayRenewal,
		wire.RelayGrantRequest{Caller: api.CallerOf(ctx), Release: &in},
		func() (out wire.GrantResponse, err error) { return out, g.releaseHere(ctx, in, token) })
	return wire.GrantReleased{}, err
}

func (g grantCalls) releaseHere(ctx context.Context, in wire.GrantRelease, token wire.GrantToken) error {
	last := clustertime.Tick(math.MaxInt64 - 1) // the table lowers it to the end of all that was granted
	if in.Last != nil {
		last = *in.Last
	}
	_, err := api.Await(ctx, wire.DetachRequest{Holder: token.Holder(), Sequencer: token.Sequencer, ID: token.ID(),
		Node: token.Node, LastUsed: last, IDs: in.Used.IDs, Waits: in.Used.Waits},
		func(ctx context.Context, in wire.DetachRequest, reply func(wire.Done, error)) {
			g.h.startDetachFrom(ctx, in, "", reply)
		})
	return err
}

// relayed serves a request relayed by another member. It checks the original caller's permissions and
// pace again, and does not relay.
func (g grantCalls) relayed(ctx context.Context, in wire.RelayGrantRequest) (wire.GrantResponse, error) {
	if in.Caller != nil {
		if err := in.Caller.Check(); err != nil {
			return wire.GrantResponse{}, err
		}
		ctx = api.OnBehalf(ctx, *in.Caller)
	}
	switch {
	case (in.Grant == nil) == (in.Release == nil):
		return wire.GrantResponse{}, failure.Errorf(wire.ErrBadRequest,
			"grid: a relayed grant has one request: give grant or release")
	case in.Release != nil:
		return wire.GrantResponse{}, g.relayedRelease(ctx, *in.Release)
	}
	name, token, err := in.Grant.Target()
	if err == nil {
		err = api.CheckName(name)
	}
	if err != nil {
		return wire.GrantResponse{}, err
	}
	for _, action := range in.Grant.Actions() {
		if err := api.Authorize(ctx, g.h.cfg.Audit, action, name); err != nil {
			return wire.GrantResponse{}, err
		}
	}
	if in.Grant.Grant == "" {
		if err := g.h.Charge(ctx, security.Attach, name); err != nil {
			return wire.GrantResponse{}, err
		}
	}
	return g.grantHere(ctx, *in.Grant, token)
}

func (g grantCalls) relayedRelease(ctx context.Context, in wire.GrantRelease) error {
	token, err := wire.ParseGrantToken(in.Grant)
	if err == nil {
		err = api.Authorize(ctx, g.h.cfg.Audit, security.Detach, token.Sequencer.Name)
	}
	if err != nil {
		return err
	}
	return g.releaseHere(ctx, in, token)
}
