package sim

import (
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Serves the calls of generators at a member, as in package grid.

// grantReply is the reply to a generator, with what it states in terms of the grid.
type grantReply struct {
	grants.Reply
	ref attachment.Ref
	of  attachment.Attachment
}

// ownerOf returns the owner of a name in the member's roster, nil without one.
func (m *member) ownerOf(name string) *member {
	r := m.roster
	if len(r.Partitions) == 0 {
		return nil
	}
	return m.g.members[r.Partitions[roster.PartitionOf(name, len(r.Partitions))].Owner]
}

// grant serves a request for a grant. A member that is not the owner relays it once.
func (m *member) grant(grant string, def sequencer.Definition, relays bool, reply func(answer[grantReply])) {
	owner := m.ownerOf(def.Name())
	switch {
	case owner != nil && owner != m && relays:
		callPeer(m, owner, requestTimeout, func(reply func(answer[grantReply])) {
			owner.grant(grant, def, false, reply)
		}, func(a answer[grantReply], err error) {
			if err != nil {
				a.err = err
			}
			reply(a)
		})
	case owner != m:
		reply(answer[grantReply]{err: roster.ErrWrongOwner})
	case grant == "":
		m.takeGrant(def, reply)
	default:
		m.renewGrant(grant, reply)
	}
}

// takeGrant serves a first request: it creates the name, or gets its current life, and attaches.
func (m *member) takeGrant(def sequencer.Definition, reply func(answer[grantReply])) {
	askOwner(m, def.Name(), func(o *actor, v partition.View, reply func(attachment.Ref, error)) {
		o.machine.Create(v, attachment.Ref{Definition: def, Life: m.g.newLife(m)}, reply)
	}, func(of answer[attachment.Ref]) {
		if of.err != nil {
			reply(answer[grantReply]{err: of.err})
			return
		}
		token := wire.GrantToken{Sequencer: wire.SequencerOf(of.value), Secret: m.w.bits(), Grid: of.stamp.Grid,
			Version: of.stamp.Version}
		claim := grantClaim(token)
		claim.Preference = attachment.Preference{Any: true}
		m.after(0, func() { m.attachGrant(token, claim, reply) }) // not within the machine's call
	})
}

// renewGrant serves a renewal. A lost node is replaced.
func (m *member) renewGrant(grant string, reply func(answer[grantReply])) {
	token, err := wire.ParseGrantToken(grant)
	if err != nil {
		reply(answer[grantReply]{err: err})
		return
	}
	claim := grantClaim(token)
	askOwner(m, token.Sequencer.Name, func(o *actor, v partition.View, reply func([]partition.Renewed, error)) {
		o.machine.Renew(v, token.Holder(), []partition.Claim{claim}, func(out []partition.Renewed, err error) {
			if err == nil && out[0].Err == nil {
				o.show(token.Holder(), claim.Ref, attachment.Attachment{ID: claim.ID, Node: claim.Node})
			}
			reply(out, err)
		})
	}, func(a answer[[]partition.Renewed]) {
		err := a.err
		if err == nil {
			err = a.value[0].Err
		}
		switch {
		case err == nil:
			of := attachment.Attachment{ID: token.ID(), Node: token.Node, Grant: a.value[0].Grant}
			reply(m.granted(token, of, a.stamp, false))
		case partition.LostNode(err):
			next := token.Next()
			m.after(0, func() { m.attachGrant(next, grantClaim(next), reply) })
		default:
			reply(answer[grantReply]{err: err})
		}
	})
}

// attachGrant attaches a logical node for a token.
func (m *member) attachGrant(token wire.GrantToken, claim partition.Claim, reply func(answer[grantReply])) {
	m.attach(token.Holder(), claim, func(a answer[attachment.Attachment]) {
		if a.err != nil {
			reply(answer[grantReply]{err: a.err})
			return
		}
		reply(m.granted(token, a.value, a.stamp, token.Turn > 0 && a.value.Node != token.Node))
	})
}

// granted returns the reply with a grant.
func (m *member) granted(token wire.GrantToken, of attachment.Attachment, s stamp, replaced bool) answer[grantReply] {
	r, err := wire.GrantResponseOf(token.Sequencer, of.Node, of.Grant, s.Time, m.roster.Settings.Window, 0)
	return answer[grantReply]{stamp: s, err: err, value: grantReply{
		ref: grantClaim(token).Ref, of: of,
		Reply: grants.Reply{Grant: token.With(of.Node, of.Grant, wire.Stamp(s)).String(), Replaced: replaced,
			Node: int64(of.Node), Epoch: r.Epoch, TimeShift: r.TimeShift, NodeShift: r.NodeShift, Counters: r.Counters,
			From: int64(of.Grant.From), Until: int64(of.Grant.Until), Now: int64(s.Time), RenewIn: r.RenewIn, Ends: r.Ends},
	}}
}

// releaseGrant serves a release.
func (m *member) releaseGrant(token wire.GrantToken, rel attachment.Release, relays bool) {
	switch owner := m.ownerOf(token.Sequencer.Name); {
	case owner != nil && owner != m && relays:
		sendPeer(m, owner, func() { owner.releaseGrant(token, rel, false) })
	case owner == m:
		askOwner(m, token.Sequencer.Name, func(o *actor, v partition.View, reply func(struct{}, error)) {
			o.machine.Detach(v, "", grantClaim(token).Ref, rel, nothing(reply))
		}, func(answer[struct{}]) {})
	}
}

// grantClaim converts a token's claim, as an owner does.
func grantClaim(t wire.GrantToken) partition.Claim {
	in := t.Claim()
	ref, _ := in.Sequencer.Ref()
	return partition.Claim{Ref: ref, ID: in.ID, Preference: attachment.Preference{Node: *in.Node}, Grid: in.Grid,
		Version: in.Version, Until: in.Until}
}
