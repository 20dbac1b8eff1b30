package client

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// renew makes one call that renews handles at an owner.
func (r *runner) renew(ctx context.Context, call *session.Renewal) {
	identity, err := r.c.identity()
	if err != nil {
		r.do(func(m *session.Machine, now session.Now) { m.Renewed(now, call, session.Renewed{}, err) })
		return
	}
	req := wire.RenewRequest{Holder: r.c.holder, Identity: identity, About: r.c.about}
	for _, s := range call.Sets {
		req.Grid = call.Grid
		req.Sets = append(req.Sets, wire.ClaimSet(s))
	}
	for _, claim := range call.Claims {
		req.Claims = append(req.Claims, claimOnWire(claim))
	}
	for _, u := range call.Used {
		req.Used = append(req.Used, wire.Used(u))
	}
	end := r.c.spans.Note(ctx, "renew", slog.String("member", call.Owner), slog.Int("claims", len(call.Claims)),
		slog.Int("sets", len(call.Sets)))
	var res wire.RenewResponse
	err = r.c.identified(identity, r.c.tryCall(ctx, call.Owner, wire.PathRenew, req, &res))
	end(err)
	r.c.spans.tried(ctx, call.Owner, err)
	r.c.counts.renewed(err)
	if err = denial(err); err != nil {
		r.c.log.Debug("renewal failed; retrying", "error", err)
	}
	answer := session.Renewed{Stamp: session.Stamp(res.Stamp), Sets: res.Sets,
		Pace: time.Duration(res.Pace) * time.Millisecond}
	for _, result := range res.Results {
		answer.Claims = append(answer.Claims, session.ClaimRenewed{Grant: result.Grant, Err: denial(result.Error.Unwire())})
	}
	r.do(func(m *session.Machine, now session.Now) { m.Renewed(now, call, answer, err) })
}

// isDenied reports whether a member has denied this call. Other members would deny it too.
func isDenied(err error) bool {
	return errors.Is(err, security.ErrDenied) || errors.Is(err, security.ErrUnauthenticated)
}

// denial converts an error for the session, which does not depend on certificates.
func denial(err error) error {
	if isDenied(err) {
		return failure.Errorf(session.ErrDenied, "%w", err)
	}
	return err
}

// claimOnWire converts a claim to its wire format.
func claimOnWire(c session.Claim) wire.Claim {
	return wire.Claim{Sequencer: wire.SequencerOf(c.Ref), ID: c.ID, Node: nodeOnWire(c.Preference), Grid: c.Grid,
		Version: c.Version, Until: c.Until}
}
