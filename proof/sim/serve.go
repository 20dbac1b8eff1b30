package sim

import (
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/session"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Serves the calls of holders at a member, as in package grid.

// stamp is part of every reply.
type stamp = session.Stamp

// answer is the result of a request.
type answer[T any] struct {
	value T
	stamp stamp
	err   error
}

func stampOf(v partition.View) stamp {
	return stamp{Grid: v.Roster.Identity(), Version: v.Roster.Version, Time: v.Bounds().Now}
}

// askOwner passes a request to the name's actor if this member owns it.
func askOwner[T any](m *member, name string, request func(o *actor, v partition.View, reply func(T, error)),
	reply func(answer[T])) {
	r := m.roster
	if len(r.Partitions) == 0 || r.Partitions[roster.PartitionOf(name, len(r.Partitions))].Owner != m.inc {
		reply(answer[T]{err: roster.ErrWrongOwner})
		return
	}
	v := m.view()
	request(m.actorOf(roster.PartitionOf(name, len(r.Partitions))), v, func(value T, err error) {
		reply(answer[T]{value, stampOf(v), err})
	})
}

// nothing adapts a reply without a value.
func nothing(reply func(struct{}, error)) func(error) {
	return func(err error) { reply(struct{}{}, err) }
}

// claimOf converts a claim, as an owner does on arrival.
func claimOf(c session.Claim) partition.Claim {
	return partition.Claim{Ref: c.Ref, ID: c.ID, Preference: c.Preference, Grid: c.Grid, Version: c.Version,
		Until: c.Until}
}

// attach serves an attach.
func (m *member) attach(h attachment.HolderID, c partition.Claim, reply func(answer[attachment.Attachment])) {
	askOwner(m, c.Ref.Definition.Name(), func(o *actor, v partition.View, reply func(attachment.Attachment, error)) {
		o.machine.Attach(v, h, c, func(a attachment.Attachment, err error) {
			if err == nil {
				o.show(h, c.Ref, a)
			}
			reply(a, err)
		})
	}, reply)
}

// detach serves a detach.
func (m *member) detach(h attachment.HolderID, back *session.Return, reply func(answer[struct{}])) {
	askOwner(m, back.Ref.Definition.Name(), func(o *actor, v partition.View, reply func(struct{}, error)) {
		o.machine.Detach(v, h, back.Ref, back.Release, nothing(reply))
	}, reply)
}

// renewal is a renewal in progress. Partitions reply separately, and a slow partition does not
// delay the others.
type renewal struct {
	out  session.Renewed
	open int // sets and claims without a reply
	send func(session.Renewed)
}

func (r *renewal) answered(n int) {
	if r.open -= n; r.open <= 0 && r.send != nil {
		r.send(r.out)
		r.send = nil
	}
}

// renew serves a renewal.
func (m *member) renew(h *holder, in *session.Renewal, reply func(session.Renewed)) {
	r := &renewal{open: len(in.Sets) + len(in.Claims), send: reply, out: session.Renewed{
		Stamp: stampOf(m.view()), Sets: make([]clustertime.Tick, len(in.Sets)),
		Claims: make([]session.ClaimRenewed, len(in.Claims)),
	}}
	for i := range r.out.Claims {
		r.out.Claims[i].Err = sequencer.ErrUnavailable // until a reply arrives
	}
	for i, set := range in.Sets {
		m.renewSet(h, in.Grid, set, func(until clustertime.Tick) {
			r.out.Sets[i] = until
			r.answered(1)
		})
	}
	from := 0 // start of one partition's claims, which are consecutive
	for to := range in.Claims {
		if next := to + 1; next == len(in.Claims) || m.partitionOf(in.Claims[next]) != m.partitionOf(in.Claims[to]) {
			m.renewClaims(h.id, in.Claims[from:next], func(results []session.ClaimRenewed) {
				r.answered(copy(r.out.Claims[next-len(results):], results))
			})
			from = next
		}
	}
	m.after(partition.RenewTime, func() { r.answered(r.open) })
}

func (m *member) partitionOf(c session.Claim) roster.PartitionID {
	return roster.PartitionOf(c.Ref.Definition.Name(), max(len(m.roster.Partitions), 1))
}

// renewSet renews a set, or replies 0 if the holder has to present its claims.
func (m *member) renewSet(h *holder, grid roster.GridID, set session.ClaimSet, reply func(clustertime.Tick)) {
	r := m.roster
	if r.Identity() != grid || int(set.Partition) >= len(r.Partitions) || r.Partitions[set.Partition].Owner != m.inc {
		reply(0)
		return
	}
	o := m.actorOf(set.Partition)
	o.machine.RenewSet(m.view(), h.id, partition.ClaimSet{Count: set.Count, Print: set.Print},
		func(until clustertime.Tick, err error) {
			if err != nil {
				until = 0
			}
			if until > 0 {
				o.showAll(h)
			}
			reply(until)
		})
}

// renewClaims renews one partition's claims.
func (m *member) renewClaims(h attachment.HolderID, shown []session.Claim, reply func([]session.ClaimRenewed)) {
	claims := make([]partition.Claim, len(shown))
	for i, c := range shown {
		claims[i] = claimOf(c)
	}
	name := shown[0].Ref.Definition.Name()
	askOwner(m, name, func(o *actor, v partition.View, reply func([]partition.Renewed, error)) {
		o.machine.Renew(v, h, claims, func(out []partition.Renewed, err error) {
			for i := range out {
				if out[i].Err == nil {
					o.show(h, claims[i].Ref, attachment.Attachment{ID: claims[i].ID, Node: claims[i].Node})
				}
			}
			reply(out, err)
		})
	}, func(a answer[[]partition.Renewed]) {
		out := make([]session.ClaimRenewed, len(shown))
		for i := range out {
			if a.err != nil {
				out[i].Err = a.err
			} else {
				out[i] = session.ClaimRenewed(a.value[i])
			}
		}
		reply(out)
	})
}
