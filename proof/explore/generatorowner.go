package explore

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/grants"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
	"github.com/snowgrid/snowgrid/sequencer"
)

type (
	ownerID    uint32
	grantID    uint32 // 0: none
	ownerReply uint32
)

// grantOwner is the owner's state: its real table, and the attachments that it remembers as
// released.
type grantOwner struct {
	Table    *partition.Table
	Released []attachment.ID
	Lives    uint8
}

// ownerAnswer is the answer to a request for a grant.
type ownerAnswer struct {
	Reply grants.Reply
	Code  string
}

// grantOwners stores every state of the owner that occurred, every text of a grant and every reply,
// each once and under a number. An outcome depends only on the state and the operation, so the real
// table runs once for each pair.
type grantOwners struct {
	definition sequencer.Definition
	ends       int64
	encoder    *encoder
	owners     shelf[ownerID, *grantOwner]
	replies    shelf[ownerReply, ownerAnswer]
	texts      []string
	numbers    map[string]grantID
	outcomes   map[ownerWork]ownerOutcome
}

// ownerWork is an operation on an owner.
type ownerWork struct {
	owner  ownerID
	kind   ownerOperation
	now    int64
	grant  grantID
	number uint8 // of a secret, a tenant, a life or an attachment
	node   sequencer.NodeID
	last   int64
}

// ownerOutcome is the result. done reports whether the operation changed or answered something.
type ownerOutcome struct {
	owner  ownerID
	reply  ownerReply
	done   bool
	tenant partition.Tenant
}

type ownerOperation uint8

const (
	ownerGrants ownerOperation = iota // a request of a generator
	ownerReleases
	ownerAttaches // requests of the ordinary holder
	ownerRenews
	ownerDetaches
	ownerExpires
	ownerForgets
	ownerDestroys
	ownerCreates
	ownerFolds
	ownerMoves
	ownerLoses
)

func newGrantOwners(s GeneratorScope) *grantOwners {
	def, err := sequencer.Define(name, sequencer.Config{
		Layout:    sequencer.Layout{Bits: 50, LowBits: 5, Nodes: 16}, // two IDs in a millisecond
		NodeRange: sequencer.NodeRange{Lo: 1, Hi: sequencer.NodeID(s.Nodes)}, Nodes: 16,
	})
	if err != nil {
		panic(err)
	}
	o := &grantOwners{definition: def, encoder: newEncoder(nil), numbers: map[string]grantID{"": 0}, texts: []string{""},
		outcomes: map[ownerWork]ownerOutcome{}, ends: math.MaxInt64}
	if s.Ends > 0 {
		o.ends = int64(generatorBase) + int64(s.Ends)
	}
	return o
}

// first returns the owner's first state.
func (o *grantOwners) first() ownerID {
	own := &grantOwner{Table: partition.NewTable()}
	own.create(o.ref(1), 0)
	return o.keep(own)
}

// keep numbers a state.
func (o *grantOwners) keep(own *grantOwner) ownerID {
	own.Table.Change() // changes are for replicas and disks, which do not exist here
	own.Table.TakeUnstored()
	return o.owners.put(o.encoder.append(nil, reflect.ValueOf(own).Elem()), own)
}

// ref returns a life of the sequencer.
func (o *grantOwners) ref(life uint8) attachment.Ref {
	return attachment.Ref{Definition: o.definition, Life: attachment.Life{life},
		Born: attachment.Revision{Number: uint64(life)}}
}

// grant numbers the text of a grant.
func (o *grantOwners) grant(text string) grantID {
	id, known := o.numbers[text]
	if !known {
		id = grantID(len(o.texts))
		o.numbers[text], o.texts = id, append(o.texts, text)
	}
	return id
}

// do performs an operation on a copy of an owner.
func (o *grantOwners) do(in ownerWork) ownerOutcome {
	out, known := o.outcomes[in]
	if !known {
		own := deepCopy(o.owners.get(in.owner))
		var answer ownerAnswer
		answer, out.tenant, out.done = o.perform(own, in)
		out.owner, out.reply = o.keep(own), keep(&o.replies, answer)
		o.outcomes[in] = out
	}
	return out
}

func (o *grantOwners) perform(own *grantOwner, in ownerWork) (a ownerAnswer, t partition.Tenant, done bool) {
	now := generatorBase + clustertime.Tick(in.now)
	b := partition.Bounds{Now: now, Ceiling: now + grantWindow}
	ordinary := partition.Claim{Ref: o.ref(own.Lives), ID: attachment.ID{in.number},
		Preference: attachment.Preference{Node: in.node}}
	switch in.kind {
	case ownerGrants:
		return o.serve(own, b, o.texts[in.grant], in.number), t, true
	case ownerReleases:
		return a, t, own.release(o.texts[in.grant], clustertime.Tick(in.last))
	case ownerAttaches:
		got, _, err := own.Table.Attach(ordinary, b)
		return ownerAnswer{Reply: grantOf(got)}, t, err == nil
	case ownerRenews:
		got, _, err := own.Table.Renew(ordinary, b)
		return ownerAnswer{Reply: grantOf(got)}, t, err == nil
	case ownerDetaches:
		return a, t, own.Table.Detach(ordinary.Ref, attachment.Release{ID: ordinary.ID, Node: in.node,
			LastUsed: clustertime.Tick(in.last)})
	case ownerExpires:
		if all := own.Table.Tenants(); int(in.number) < len(all) {
			t = all[in.number]
			return a, t, own.Table.Expire(t.Name, t.Node, t.ID, 0)
		}
	case ownerForgets:
		done, own.Released = len(own.Released) > 0, nil
	case ownerDestroys:
		return a, t, own.Table.Destroy(ordinary.Ref) == nil
	case ownerCreates:
		_, err := own.Table.Open(name)
		return a, t, err != nil && own.create(o.ref(own.Lives+1), now)
	case ownerFolds:
		done = own.Table.Fold(now, 0)
	case ownerMoves:
		own.Table.BecomeOwner(b.Ceiling, false, true)
		done = true
	case ownerLoses:
		if _, err := own.Table.Open(name); err == nil {
			own.Table.BecomeOwner(b.Ceiling, true, true)
			own.Released = nil
			own.Lives--
			done = own.create(ordinary.Ref, now) // from a disk
		}
	}
	return a, t, done
}

func grantOf(a attachment.Attachment) grants.Reply {
	return grants.Reply{Node: int64(a.Node), From: int64(a.Grant.From), Until: int64(a.Grant.Until)}
}

func (own *grantOwner) create(ref attachment.Ref, now clustertime.Tick) bool {
	own.Lives++
	_, created, err := own.Table.Create(ref, max(now, generatorBase))
	return created && err == nil
}

// serve answers a request for a grant as a member does: a first request attaches any logical node,
// a renewal of a lost node attaches another one.
func (o *grantOwners) serve(own *grantOwner, b partition.Bounds, text string, secret uint8) ownerAnswer {
	if text == "" {
		ref, err := own.Table.Open(name)
		if err != nil {
			return refusal(err)
		}
		token := wire.GrantToken{Sequencer: wire.SequencerOf(ref), Secret: [16]byte{secret}}
		return o.attach(own, b, token, attachment.Preference{Any: true})
	}
	token := grantToken(text)
	renewed, err := attachment.Attachment{}, own.refuse(token.ID())
	if err == nil {
		renewed, _, err = own.Table.Renew(claimOf(token, attachment.Preference{Node: token.Node}), b)
	}
	switch {
	case err == nil:
		return o.answer(b, token, renewed)
	case partition.LostNode(err):
		return o.attach(own, b, token.Next(), attachment.Preference{Node: token.Node})
	}
	return refusal(err)
}

func (o *grantOwners) attach(own *grantOwner, b partition.Bounds, t wire.GrantToken,
	p attachment.Preference) ownerAnswer {
	err := own.refuse(t.ID())
	if err != nil {
		return refusal(err)
	}
	a, _, err := own.Table.Attach(claimOf(t, p), b)
	if err != nil {
		return refusal(err)
	}
	return o.answer(b, t, a)
}

// refuse returns ErrReleased for a released attachment.
func (own *grantOwner) refuse(id attachment.ID) error {
	if slices.Contains(own.Released, id) {
		return partition.ErrReleased
	}
	return nil
}

// release serves a release, and remembers the attachment.
func (own *grantOwner) release(text string, last clustertime.Tick) bool {
	token := grantToken(text)
	ref := claimOf(token, attachment.Preference{}).Ref
	if !own.Table.Detach(ref, attachment.Release{ID: token.ID(), Node: token.Node, LastUsed: last}) {
		return false
	}
	own.Released = append(own.Released, token.ID())
	slices.SortFunc(own.Released, func(a, b attachment.ID) int { return slices.Compare(a[:], b[:]) })
	return true
}

func (o *grantOwners) answer(b partition.Bounds, t wire.GrantToken, a attachment.Attachment) ownerAnswer {
	r, err := wire.GrantResponseOf(t.Sequencer, a.Node, a.Grant, b.Now, grantWindow, 0)
	if err != nil {
		panic(err)
	}
	t = t.With(a.Node, a.Grant, wire.Stamp{Grid: roster.GridID{1}})
	return ownerAnswer{Reply: grants.Reply{Grant: t.String(), Node: int64(a.Node), Epoch: r.Epoch, TimeShift: r.TimeShift,
		NodeShift: r.NodeShift, Counters: r.Counters, From: int64(r.From), Until: int64(r.Until), Now: int64(r.Now),
		Ends: min(r.Ends, o.ends)}}
}

func refusal(err error) ownerAnswer {
	for code, kind := range map[string]error{"destroyed": sequencer.ErrDestroyed, "detached": sequencer.ErrDetached,
		"not_found": sequencer.ErrNotFound, "no_free_node": sequencer.ErrNoFreeNode} {
		if errors.Is(err, kind) {
			return ownerAnswer{Code: code}
		}
	}
	panic(fmt.Sprintf("explore: an owner replies with an unexpected error: %v", err))
}

func grantToken(text string) wire.GrantToken {
	t, err := wire.ParseGrantToken(text)
	if err != nil {
		panic(err)
	}
	return t
}

func claimOf(t wire.GrantToken, p attachment.Preference) partition.Claim {
	ref, err := t.Sequencer.Ref()
	if err != nil {
		panic(err)
	}
	return partition.Claim{Ref: ref, ID: t.ID(), Preference: p, Until: t.Until}
}
