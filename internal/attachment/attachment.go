// Package attachment connects a handle of package sequencer to the system that assigns its logical
// nodes, the backend: a member, a client, or a store. Users get handles from these, so package
// sequencer does not export what they need: an [Attachment] with its [Grant], the [Backend]
// interface, and the [Control] by which a backend renews, ends and observes a handle.
package attachment

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/attachment/bridge"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// handles are the functions of package sequencer for backends.
var handles = bridge.Sequencer.(bridge.Handles[sequencer.Definition, sequencer.Sequencer, sequencer.Striped,
	sequencer.NodeID])

// The types that package sequencer uses, too.
type (
	// ID names an attachment: one holder's tenure of one logical node.
	ID = bridge.ID
	// Life names one life of a sequencer, from its creation to its destruction.
	Life = bridge.Life
	// Grant is the right to use one logical node's timestamps From <= t < Until.
	Grant = bridge.Grant
	// Attachment is a logical node assigned by the backend, with its first grant.
	Attachment = bridge.Attachment[sequencer.NodeID]
	// Preference is the logical node that an attach requests first.
	Preference = bridge.Preference[sequencer.NodeID]
	// Release is a holder's last message about an attachment, under which it issues no further IDs.
	Release = bridge.Release[sequencer.NodeID]
	// Clock returns the cluster time of the backend's process.
	Clock = bridge.Clock
)

// MaxStripes is the largest number of logical nodes in one [sequencer.Striped].
const MaxStripes = bridge.MaxStripes

// Backend is the system that assigns logical nodes to a handle. A grid is one
// backend; any system that keeps such a table consistently can be another. Renewals and events flow
// in the other direction, through Control.
type Backend interface {
	// Attach requests a logical node, preferably p's node unless p.Any is set.
	Attach(ctx context.Context, r Ref, p Preference) (Attachment, error)
	// Detach releases an attachment. It is final: after an error the backend
	// retries by itself, or lets the attachment expire.
	Detach(ctx context.Context, r Ref, rel Release) error
	// Destroy ends this life of the sequencer everywhere.
	Destroy(ctx context.Context, r Ref) error
}

// Revision orders the lives of a name: the term of the owner that created the life, and the
// operation's number in that term. A later life has a larger revision.
type Revision struct {
	Term   uint64 `json:"term"`
	Number uint64 `json:"number"`
}

// Compare returns -1, 0 or 1 as b is before, equal to or after o.
func (b Revision) Compare(o Revision) int {
	switch {
	case b == o:
		return 0
	case b.Term < o.Term || (b.Term == o.Term && b.Number < o.Number):
		return -1
	}
	return 1
}

// Ref identifies one life of one sequencer.
type Ref struct {
	Definition sequencer.Definition
	Life       Life
	Born       Revision
}

// HasNode reports whether holders can have a logical node.
func (r Ref) HasNode(n sequencer.NodeID) bool {
	nodes := r.Definition.Config().NodeRange
	return nodes.Lo <= n && n <= nodes.Hi
}

// Nodes returns the number of logical nodes that holders can have.
func (r Ref) Nodes() int {
	cfg := r.Definition.Config()
	return cfg.NodeRange.Count(cfg.Nodes)
}

// Control is the backend's side of a handle: it delivers renewals and events of the grid,
// and reads the state that the grid needs.
type Control struct {
	bridge.Control[sequencer.NodeID]
	handle *sequencer.Sequencer
	ref    Ref
}

// New returns a handle in state Detached on the life ref, and the control through which its backend
// renews, ends and observes it.
func New(ref Ref, backend Backend, clock Clock) (*sequencer.Sequencer, *Control) {
	handle, control := handles.New(ref.Definition, ref.Life, bound{backend, ref}, clock)
	return handle, &Control{Control: control, handle: handle, ref: ref}
}

// NewStriped returns one handle over several, which must not be used otherwise. A stripe that is
// Detached is skipped until its backend attaches it again. [sequencer.Striped.Leave] calls leave,
// which ends the stripes and releases their logical nodes.
//
// Errors: sequencer.ErrInvalidConfig for a number of stripes that [CheckStripes] rejects, for stripes
// of different lives, and for a duplicate stripe.
func NewStriped(stripes []*sequencer.Sequencer, leave func(context.Context) error) (*sequencer.Striped, error) {
	return handles.NewStriped(stripes, leave)
}

// CheckNew reports whether a sequencer may be created with this definition at now. It has more
// rules than [sequencer.Define], which also reads the definitions of existing sequencers: it
// returns sequencer.ErrInvalidConfig for a name that prints like another one (a space at either end, a
// character that renders as nothing or as a gap), for an epoch that looks like seconds or is later than now, and if the
// last ID's millisecond has passed (the error matches sequencer.ErrEpochExhausted, too).
func CheckNew(d sequencer.Definition, now clustertime.Tick) error { return handles.CheckNew(d, now) }

// CheckStripes returns nil if one process may have n logical nodes of the sequencer in one
// [sequencer.Striped]: 1 to [MaxStripes], and at most half of its nodes.
//
// Errors: sequencer.ErrInvalidConfig.
func CheckStripes(d sequencer.Definition, n int) error { return handles.CheckStripes(d, n) }

// Handle returns the handle that the control belongs to.
func (c *Control) Handle() *sequencer.Sequencer { return c.handle }

// Ref returns the life that the handle is on.
func (c *Control) Ref() Ref { return c.ref }

// bound is a backend with the life of one of its handles.
type bound struct {
	backend Backend
	ref     Ref
}

func (b bound) Attach(ctx context.Context, p Preference) (Attachment, error) {
	return b.backend.Attach(ctx, b.ref, p)
}

func (b bound) Detach(ctx context.Context, rel Release) error {
	return b.backend.Detach(ctx, b.ref, rel)
}

func (b bound) Destroy(ctx context.Context) error { return b.backend.Destroy(ctx, b.ref) }
