package grid

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"slices"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The calls for persistent numbers. Any member takes them, and the leader serves them: it
// answers from the log, or from its roster after it has confirmed that it still leads, so
// that an explicit refusal is always true.

// auditedNumbers limits the numbers in a clean's audit line.
const auditedNumbers = 20

func (o *leadership) identityCalls() []*api.Call {
	return []*api.Call{
		api.AlsoGet(relayed(o, wire.PathIdentity, o.listNumbers).WithLargeAnswer(), identityQuery),
		relayed(o, wire.PathIdentityNext, o.nextNumber),
		relayed(o, wire.PathIdentityApply, o.applyForNumber),
		relayed(o, wire.PathIdentityRegister, o.registerNumber),
		relayed(o, wire.PathIdentityClean, o.cleanNumbers),
		relayed(o, wire.PathIdentityDrop, o.dropSet),
		relayed(o, wire.PathIdentityImport, o.importNumbers),
	}
}

// ask has the tracker take a request, and waits until it is agreed on or refused.
func (o *leadership) ask(ctx context.Context,
	request func(t *numbers.Tracker, reply func(numbers.Outcome))) (removed []uint64, err error) {
	l := o.current.Load()
	if l == nil || l.caughtUp.Load() == 0 {
		return nil, refusal.ErrNotLeader
	}
	out, err := answerOf(ctx, l, func(machine *leader.Leader, v leader.View, reply func(numbers.Outcome)) {
		request(machine.Numbers(v), reply)
	})
	if err == nil && !out.Proposed {
		err = l.confirm()
	}
	if err = cmp.Or(err, numberRefusal(out.Err)); err != nil {
		return nil, err
	}
	return out.Removed, nil
}

// numberRefusal returns the API's error for an error of the tracker.
func numberRefusal(err error) error {
	for _, own := range []error{numbers.ErrIDRefused, numbers.ErrNotRegistered, numbers.ErrUnknownSet, numbers.ErrFenced,
		numbers.ErrAlive} {
		if errors.Is(err, own) {
			return err
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, numbers.ErrInvalid):
		return failure.Errorf(wire.ErrBadRequest, "grid: %w", err)
	case errors.Is(err, numbers.ErrRefused), errors.Is(err, roster.ErrRefused):
		return failure.Errorf(wire.ErrNotNow, "grid: %w", err)
	case errors.Is(err, leader.ErrNotLeading):
		return refusalOf(err)
	}
	return failure.Errorf(sequencer.ErrUnavailable, "grid: %w", err)
}

// removalRefusal gives the refusal of a clean or a drop its own legacy code.
func removalRefusal(err error) error {
	if errors.Is(err, numbers.ErrUnknownSet) {
		return failure.Errorf(wire.ErrCleanUnknownSet, "%w", err)
	}
	return err
}

// identify applies a step of a set.
func (o *leadership) identify(ctx context.Context, c numbers.Command) error {
	if err := c.Check(); err != nil {
		return numberRefusal(err)
	}
	end, err := o.shares.enter(ctx, o.state, c)
	if err != nil {
		return err
	}
	defer end()
	_, err = o.ask(ctx, func(t *numbers.Tracker, reply func(numbers.Outcome)) { t.Request(c, reply) })
	return err
}

// auditSet writes the audit line of a step of a set.
func (o *leadership) auditSet(action, cluster, set, who string, err error, more ...slog.Attr) {
	o.audit.Write(audit.Entry{Action: action, Name: cluster + "/" + set, Who: who, Err: err}, more...)
}

// sign records that the process with a number is alive, and returns its earlier nodes.
func (o *leadership) sign(cluster, set string, id uint64,
	nodes map[string]sequencer.NodeID) (before map[string]sequencer.NodeID) {
	if l := o.current.Load(); l != nil {
		l.do(func(machine *leader.Leader, v leader.View) {
			before = converted[sequencer.NodeID](machine.Numbers(v).Sign(cluster, set, id, converted[uint16](nodes)))
		})
	}
	return before
}

// converted returns logical nodes as another type, nil for none.
func converted[To, From ~uint16](nodes map[string]From) map[string]To {
	if len(nodes) == 0 {
		return nil
	}
	out := map[string]To{}
	for name, node := range nodes {
		out[name] = To(node)
	}
	return out
}

func (o *leadership) nextNumber(_ context.Context, in wire.IdentityNextRequest) (wire.IdentityNextResponse, error) {
	none := wire.IdentityNextResponse{}
	if err := numbers.CheckName(in.Cluster, in.Name); err != nil {
		return none, numberRefusal(err)
	}
	r, err := o.agreed()
	if err != nil {
		return none, err
	}
	return wire.IdentityNextResponse{Next: r.NextNumber(in.Cluster, in.Name)}, nil
}

func (o *leadership) applyForNumber(ctx context.Context, in wire.IdentityApplyRequest) (wire.IdentityApplyResponse,
	error) {
	err := o.identify(ctx, numbers.Command{Cluster: in.Cluster, Name: in.Name,
		Apply: &numbers.Application{ID: in.ID, Code: in.Code, Addr: in.Addr}})
	o.auditSet(audit.ApplyNumber, in.Cluster, in.Name, in.AskedBy, err, slog.Uint64("number", in.ID))
	if err != nil {
		return wire.IdentityApplyResponse{}, err
	}
	o.sign(in.Cluster, in.Name, in.ID, nil)
	o.log.Info("number given", "cluster", in.Cluster, "set", in.Name, "number", in.ID, "addr", in.Addr,
		"asked_by", in.AskedBy)
	return wire.IdentityApplyResponse{ID: in.ID, Next: o.state.Roster().NextNumber(in.Cluster, in.Name)}, nil
}

func (o *leadership) registerNumber(ctx context.Context,
	in wire.IdentityRegisterRequest) (wire.IdentityRegisterResponse, error) {
	none := wire.IdentityRegisterResponse{}
	switch p := roster.Protocol(in.Protocol); {
	case in.Protocol != 0 && p < roster.OldestProtocol:
		return none, failure.Errorf(wire.ErrProtocol, "grid: number %d of %s/%s: the process has protocol %d, and identity "+
			"numbers require %d; upgrade it", in.ID, in.Cluster, in.Name, p, roster.OldestProtocol)
	case in.Member != "" && api.PeerOf(ctx).Role != security.Member:
		return none, failure.Errorf(security.ErrDenied, "grid: number %d of %s/%s: member %.40q is given, but the caller "+
			"is not a member; omit it", in.ID, in.Cluster, in.Name, string(in.Member))
	case len(in.Nodes) > wire.MaxPreferredNodes:
		return none, failure.Errorf(wire.ErrBadRequest, "grid: a registration names %d logical nodes; name at most %d",
			len(in.Nodes), wire.MaxPreferredNodes)
	}
	for name := range in.Nodes {
		if err := api.CheckName(name); err != nil {
			return none, err
		}
	}
	start := in.Start
	if s, _ := o.state.Roster().Set(in.Cluster, in.Name); start.IsZero() {
		m, _ := s.Process(in.ID)
		if start = m.Start; in.Incarnation == 0 || in.Incarnation != m.Incarnation {
			_, _ = rand.Read(start[:]) // never fails
		}
	}
	err := o.identify(ctx, numbers.Command{Cluster: in.Cluster, Name: in.Name, Register: &numbers.Registration{
		ID: in.ID, Code: in.Code, Addr: in.Addr, Start: start, Member: string(in.Member), Incarnation: in.Incarnation,
	}})
	if in.Incarnation == 0 || err != nil {
		o.auditSet(audit.RegisterNumber, in.Cluster, in.Name, in.AskedBy, err, slog.Uint64("number", in.ID))
	}
	if err != nil {
		return none, err
	}
	s, m, err := o.state.Roster().Registered(in.Cluster, in.Name, in.ID, start)
	if err != nil {
		return none, err
	}
	out := wire.IdentityRegisterResponse{Incarnation: m.Incarnation, AgainMS: numbers.SignEvery.Milliseconds()}
	out.Nodes = o.sign(in.Cluster, in.Name, in.ID, in.Nodes)
	if in.Incarnation == 0 {
		if out.Members, _, err = o.numberedMembers(s, 0); err != nil {
			return none, err // repeated, it has the same result
		}
		o.log.Info("number registered", "cluster", in.Cluster, "set", in.Name, "number", in.ID, "incarnation", m.Incarnation,
			"addr", in.Addr, "asked_by", in.AskedBy)
	}
	return out, nil
}

func (o *leadership) cleanNumbers(ctx context.Context, in wire.IdentityCleanRequest) (wire.IdentityCleanResponse,
	error) {
	none := wire.IdentityCleanResponse{}
	if err := numbers.CheckName(in.Cluster, in.Name); err != nil {
		return none, numberRefusal(err)
	}
	if len(in.IDs) < 1 || len(in.IDs) > wire.MaxNumbers {
		return none, failure.Errorf(wire.ErrBadRequest, "grid: ids: %d numbers to remove; name 1 to %d", len(in.IDs),
			wire.MaxNumbers)
	}
	slices.Sort(in.IDs)
	ids := slices.Compact(in.IDs)
	removed, err := o.ask(ctx, func(t *numbers.Tracker, reply func(numbers.Outcome)) {
		t.Clean(in.Cluster, in.Name, ids, in.Force, reply)
	})
	err = removalRefusal(err)
	o.auditSet(audit.CleanNumbers, in.Cluster, in.Name, in.AskedBy, err,
		slog.Any("numbers", ids[:min(len(ids), auditedNumbers)]), slog.Int("removed", len(removed)),
		slog.Bool("force", in.Force))
	if err != nil {
		return none, err
	}
	return wire.IdentityCleanResponse{Removed: append([]uint64{}, removed...)}, nil
}

func (o *leadership) dropSet(ctx context.Context, in wire.IdentityDropRequest) (wire.IdentityDropResponse, error) {
	err := removalRefusal(o.identify(ctx, numbers.Command{Cluster: in.Cluster, Name: in.Name, Drop: true}))
	o.auditSet(audit.DropSet, in.Cluster, in.Name, in.AskedBy, err)
	if err != nil {
		return wire.IdentityDropResponse{}, err
	}
	return wire.IdentityDropResponse{Next: o.state.Roster().NextNumber(in.Cluster, in.Name)}, nil
}

func (o *leadership) importNumbers(ctx context.Context, in wire.IdentityImportRequest) (wire.IdentityImportResponse,
	error) {
	none := wire.IdentityImportResponse{}
	if len(in.Members) > wire.MaxNumbers || len(in.Members) == 0 && in.Next == 0 && in.Incarnation == 0 {
		return none, failure.Errorf(wire.ErrBadRequest, "grid: %d numbers to import, and next %d; give up to %d numbers in "+
			"one call, or a next number", len(in.Members), in.Next, wire.MaxNumbers)
	}
	err := o.identify(ctx, numbers.Command{Cluster: in.Cluster, Name: in.Name,
		Import: &numbers.Imported{Next: in.Next, Incarnation: in.Incarnation, Numbers: in.Members}})
	s, _ := o.state.Roster().Set(in.Cluster, in.Name)
	o.auditSet(audit.ImportNumbers, in.Cluster, in.Name, in.AskedBy, err, slog.Int("numbers", len(in.Members)),
		slog.Uint64("next", s.Next))
	if err != nil {
		return none, err
	}
	return wire.IdentityImportResponse{Next: s.Next, Members: len(s.Members)}, nil
}

// identityQuery parses the query of GET /v1/identity.
func identityQuery(q url.Values) (wire.IdentityListRequest, error) {
	after, err := api.QueryInt(q, "after")
	return wire.IdentityListRequest{Cluster: q.Get("cluster"), Name: q.Get("name"), After: uint64(after)},
		cmp.Or(err, api.CheckQuery(q, "cluster", "name", "after"))
}

func (o *leadership) listNumbers(ctx context.Context, in wire.IdentityListRequest) (wire.IdentityListResponse, error) {
	out := wire.IdentityListResponse{Sets: []wire.IdentitySet{}}
	if in.Name != "" && in.Cluster == "" || in.After > 0 && in.Name == "" {
		return out, failure.Errorf(wire.ErrBadRequest,
			"grid: name is given without cluster, or after without name; give the cluster and the name of one set")
	}
	r, err := o.agreed()
	if err != nil {
		return out, err
	}
	peer := api.PeerOf(ctx)
	for _, s := range r.Sets {
		if !peer.MayUse(s.Name) {
			continue
		}
		if in.Cluster != "" && s.Cluster != in.Cluster || in.Name != "" && s.Name != in.Name {
			continue
		}
		set := wire.IdentitySet{Cluster: s.Cluster, Name: s.Name, Next: s.Next, Count: len(s.Members),
			Incarnation: s.Greatest()}
		if in.Name != "" {
			if set.Members, set.More, err = o.numberedMembers(s, in.After); err != nil {
				return wire.IdentityListResponse{}, err
			}
		}
		out.Sets = append(out.Sets, set)
	}
	if in.Name != "" && len(out.Sets) == 0 {
		return out, failure.Errorf(numbers.ErrUnknownSet, "grid: set %s/%s: no process has applied for a number in it",
			in.Cluster, in.Name)
	}
	return out, nil
}

// numberedMembers returns up to wire.MaxNumbers members of a set with larger numbers than
// after, and whether there are more. The error is refusal.ErrNotLeader if the lead has ended.
func (o *leadership) numberedMembers(s numbers.Set, after uint64) (out []wire.IdentityMember, more bool, err error) {
	l := o.current.Load()
	if l == nil {
		return nil, false, refusal.ErrNotLeader
	}
	leads := l.do(func(machine *leader.Leader, v leader.View) {
		t := machine.Numbers(v)
		for _, p := range s.Members {
			switch {
			case p.ID <= after:
			case len(out) == wire.MaxNumbers:
				more = true
				return
			default:
				out = append(out, o.numberedMember(p, t.LivenessOf(s.Cluster, s.Name, p)))
			}
		}
	})
	if !leads {
		return nil, false, refusal.ErrNotLeader
	}
	return out, more, nil
}

func (o *leadership) numberedMember(p numbers.Process, life numbers.Liveness) wire.IdentityMember {
	out := wire.IdentityMember{ID: p.ID, Addr: p.Addr, Incarnation: p.Incarnation, State: p.State(),
		Member: roster.MemberID(p.Member)}
	if life != numbers.LivenessUnknown {
		out.Alive = new(life == numbers.Alive)
	}
	if out.Member != "" && out.Member == o.self.Member() {
		out.Role = "leader"
	}
	return out
}
