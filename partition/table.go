package partition

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Table is one partition's part of the grid's memory: for each of its
// sequencers the definition, the life, and who holds which logical node from
// when. It is a state machine: callers pass the time and the ceiling in, and it
// never waits. A method that returns an error has changed nothing.
//
//	logical node:  unassigned --Attach/Renew--> assigned --Detach/Expire--> unassigned
//	life:          (unknown) --Create--> alive --Destroy--> marked --Fold--> (unknown)
//
// Invariant, for each logical node: every timestamp that was ever granted to an
// attachment other than the recorded one lies below the record's from, or below
// free if the node is unassigned; every timestamp granted to the recorded one
// lies below free.
type Table struct {
	base    clustertime.Tick // nothing at or above it was granted for a name that is forgotten
	records map[string]*record
	// complete reports that records has every name for which a reply was ever sent (D5).
	complete bool
	touched  []touch          // since the last call of Change
	disk     unstored         // which definitions a disk lacks
	folds    clustertime.Tick // no tombstone passes before it, so earlier folds look at none
	// granted is the latest end of any grant renewed by Extend, which renews all assigned nodes
	// together.
	granted clustertime.Tick
	census  census
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{records: map[string]*record{}} }

// Bounds are the times under which the owner acts: the cluster time, and the
// ceiling of the roster version that makes it the owner.
type Bounds struct {
	Now     clustertime.Tick
	Ceiling clustertime.Tick
}

// Extend counts every assigned node as granted up to the ceiling, so that replies to their holders
// need not look at each node.
func (t *Table) Extend(b Bounds) { t.granted = max(t.granted, b.Ceiling) }

// BecomeOwner makes the table safe to grant from under a new term with the given floor. After a
// loss the table is invalid and is discarded; otherwise attached nodes count as granted up to the
// floor and free ones keep their state. complete means that no disk has more than the empty table
// after a loss; a table that is not discarded stays as complete as it is (D5).
func (t *Table) BecomeOwner(floor clustertime.Tick, lost, complete bool) {
	t.touched, t.granted = nil, 0 // granted is not above the floor
	if lost {
		t.records, t.census = map[string]*record{}, census{}
		t.base = max(t.base, floor)
		t.complete, t.disk = complete, unstored{}
		return
	}
	for _, r := range t.records {
		for i := range r.Slots {
			if s := &r.Slots[i]; !s.ID.IsZero() {
				s.Free = max(s.Free, floor)
			}
		}
	}
}

// Create returns the life of def's name, and begins one, with the life and
// birth that ref brings, if there is none. A definition with which no sequencer
// may be created at now is refused with ErrInvalidConfig. Another definition is refused with ErrConflict,
// and so is one with which IDs of a destroyed life could be issued again, as long as the life has a tombstone.
func (t *Table) Create(ref attachment.Ref, now clustertime.Tick) (attachment.Ref, bool, error) {
	r := t.records[ref.Definition.Name()]
	if r != nil && !r.Destroyed {
		return r.Ref, false, r.agrees(ref.Definition)
	}
	if err := attachment.CheckNew(ref.Definition, now); err != nil {
		return attachment.Ref{}, false, err
	}
	if r != nil {
		if err := attachment.CheckRepeat(r.Ref.Definition, r.Mark, ref.Definition); err != nil {
			return attachment.Ref{}, false, err
		}
	}
	t.begin(ref, r)
	return ref, true, nil
}

// begin starts a life; ended is the record of the name's earlier life, if any.
func (t *Table) begin(ref attachment.Ref, ended *record) {
	free := t.base
	if ended != nil {
		free = max(free, ended.Mark)
	}
	next := &record{RecordState: RecordState{Ref: ref, Free: free}}
	t.census.became(ref.Definition.Name(), ended.lives(), next)
	t.records[ref.Definition.Name()] = next
	t.touch(ref.Definition.Name(), noNode)
}

// Open returns a name's life, or ErrNotFound.
func (t *Table) Open(name string) (attachment.Ref, error) {
	if r := t.records[name]; r != nil && !r.Destroyed {
		return r.Ref, nil
	}
	return attachment.Ref{}, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrNotFound)
}

// Attach gives attachment c.ID a logical node: the one it has, else the
// preferred one if unassigned, else the unassigned one with the smallest free
// timestamp, then the lowest. changed is false when nothing but the end of the
// grant changed.
//
// Errors: ErrDestroyed, ErrConflict, ErrNoFreeNode, and failure.ErrBadClaim if
// c.ID is zero, which names no attachment.
func (t *Table) Attach(c Claim, b Bounds) (a attachment.Attachment, changed bool, err error) {
	if err := c.names(); err != nil {
		return attachment.Attachment{}, false, err
	}
	r, adopted, err := t.life(c)
	if err != nil {
		return attachment.Attachment{}, false, err
	}
	if s := r.assigned(c.ID); s != nil {
		return s.grant(b), adopted, nil
	}
	if err := r.mayKeep(c, b); err != nil {
		return attachment.Attachment{}, false, err
	}
	s := r.choose(c, b.Now)
	if s == nil {
		return attachment.Attachment{}, false, failure.Errorf(sequencer.ErrNoFreeNode,
			"sequencer %q: no free logical node: all %d are attached; detach one, share them by DetachWhenIdle, or define a "+
				"sequencer with more nodes",
			c.Ref.Definition.Name(), r.Ref.Nodes())
	}
	s.ID = c.ID
	if !c.Any && s.Node == c.Node {
		s.Shown = max(s.Shown, c.Shown)
	}
	s.From = max(s.Free, s.Shown, b.Now, clustertime.Tick(r.Ref.Definition.Config().Epoch.UnixMilli()))
	t.touch(c.Ref.Definition.Name(), int(s.Node))
	return s.grant(b), true, nil
}

// Renew extends the grant of attachment c.ID on node c.Node. An unassigned node is attached as by
// Attach, which lets holders return after their owner lost its table.
//
// Errors: ErrDestroyed, ErrConflict, and ErrDetached if the node has another attachment or c.ID is
// recorded on another node: the holder uses up its grants and attaches again. failure.ErrBadClaim if c.ID
// is zero or the node does not exist.
func (t *Table) Renew(c Claim, b Bounds) (a attachment.Attachment, changed bool, err error) {
	if !c.Ref.HasNode(c.Node) {
		nodes := c.Ref.Definition.Config().NodeRange
		return attachment.Attachment{}, false, failure.Errorf(failure.ErrBadClaim,
			"sequencer %q: logical node %d is out of range %d to %d", c.Ref.Definition.Name(), c.Node, nodes.Lo, nodes.Hi)
	}
	if err := c.names(); err != nil {
		return attachment.Attachment{}, false, err
	}
	r, adopted, err := t.life(c)
	if err != nil {
		return attachment.Attachment{}, false, err
	}
	if s := r.slot(c.Node); s != nil && !s.ID.IsZero() && s.ID != c.ID {
		return attachment.Attachment{}, false, failure.Errorf(sequencer.ErrDetached,
			"sequencer %q: logical node %d was given to another holder; attach again",
			c.Ref.Definition.Name(), c.Node)
	}
	if s := r.assigned(c.ID); s != nil && s.Node != c.Node {
		// A late attach with c.ID got that node. Its grant proves nothing about c.Node.
		return attachment.Attachment{}, false, failure.Errorf(sequencer.ErrDetached,
			"sequencer %q: the attachment has logical node %d, not %d; attach again",
			c.Ref.Definition.Name(), s.Node, c.Node)
	}
	c.Any = false
	a, changed, err = t.Attach(c, b)
	return a, changed || adopted, err
}

// Known returns nil for a holder without attachment if its life has not ended.
//
// Errors: ErrDestroyed, ErrConflict.
func (t *Table) Known(c Claim) (changed bool, err error) {
	_, changed, err = t.life(c)
	return changed, err
}

// Detach unassigns rel's logical node if rel.ID is recorded on it, and reports
// whether it was. The node is free again just above the last used timestamp.
func (t *Table) Detach(ref attachment.Ref, rel attachment.Release) bool {
	r := t.records[ref.Definition.Name()]
	if r == nil || r.Destroyed || r.Ref.Life != ref.Life {
		return false
	}
	s := r.slot(rel.Node)
	if s == nil || s.ID.IsZero() || s.ID != rel.ID {
		return false
	}
	t.count(s)
	used := min(rel.LastUsed, s.Free) // never more than was granted
	s.Free = min(s.Free, max(s.From, used+1))
	s.ID = attachment.ID{}
	t.touch(ref.Definition.Name(), int(s.Node))
	return true
}

// Expire unassigns a silent holder's logical node. Its usable grants stay counted: the node is free
// again above all of them. until is the end to which [Table.Extend] extended its grant, 0 if it
// never did.
func (t *Table) Expire(name string, node sequencer.NodeID, id attachment.ID, until clustertime.Tick) bool {
	r := t.records[name]
	if r == nil || r.Destroyed {
		return false
	}
	s := r.slot(node)
	if s == nil || s.ID != id || id.IsZero() {
		return false
	}
	s.Free = max(s.Free, until)
	s.ID = attachment.ID{}
	t.touch(name, int(node))
	return true
}

// count records in an assigned node's slot the grants made by Extend.
func (t *Table) count(s *SlotState) {
	if !s.ID.IsZero() {
		s.Free = max(s.Free, t.granted)
	}
}

// Destroy ends a life. Attachments that were detached before leave the name free just above their
// last use; every other attachment counts as used up to the end of its grant.
//
// Errors: ErrNotFound for an unknown name, ErrDestroyed if the name has another life.
func (t *Table) Destroy(ref attachment.Ref) error {
	r := t.records[ref.Definition.Name()]
	switch {
	case r == nil:
		return fmt.Errorf("sequencer %q: %w", ref.Definition.Name(), sequencer.ErrNotFound)
	case r.Destroyed || r.Ref.Life != ref.Life:
		return fmt.Errorf("sequencer %q: %w", ref.Definition.Name(), sequencer.ErrDestroyed)
	}
	t.end(r)
	t.touch(ref.Definition.Name(), noNode)
	return nil
}

// end turns a record into its life's tombstone: the largest free time of its nodes.
func (t *Table) end(r *record) {
	if r.lives() {
		t.census.add(r.Ref.Definition.Name(), -1)
	}
	r.Mark = r.Free
	for i := range r.Slots {
		t.count(&r.Slots[i])
		r.Mark = max(r.Mark, r.Slots[i].Free)
	}
	r.Destroyed, r.Slots, r.unslotted = true, nil, 0
	t.folds = min(t.folds, r.Mark)
}

// Fold forgets tombstones that cluster time has passed, except for the latest keep of them, and reports
// whether it forgot any.
func (t *Table) Fold(now clustertime.Tick, keep int) bool {
	if now < t.folds {
		return false
	}
	var passed []*record
	t.folds = math.MaxInt64
	for _, r := range t.records {
		switch {
		case !r.Destroyed:
		case r.Mark <= now:
			passed = append(passed, r)
		default:
			t.folds = min(t.folds, r.Mark)
		}
	}
	if len(passed) <= keep {
		return false
	}
	slices.SortFunc(passed, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.Mark, b.Mark), cmp.Compare(a.Ref.Definition.Name(), b.Ref.Definition.Name()))
	})
	for _, r := range passed[:len(passed)-keep] {
		name := r.Ref.Definition.Name()
		t.base = max(t.base, r.Mark)
		delete(t.records, name)
		t.touch(name, noNode)
	}
	return true
}

// life finds the record that a claim is about, creating it again if the grid
// may have forgotten it.
func (t *Table) life(c Claim) (r *record, adopted bool, err error) {
	name := c.Ref.Definition.Name()
	r = t.records[name]
	switch {
	case r == nil && !c.Forgotten, r != nil && r.Destroyed:
		return nil, false, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	case r == nil:
		return t.adopt(c.Ref, nil), true, nil
	case r.Ref.Life == c.Ref.Life:
		return r, false, r.agrees(c.Ref.Definition)
	case r.Adopted && c.Forgotten && c.Before && r.Ref.Born.Compare(c.Ref.Born) < 0:
		// A holder that had not received its end recreated an ended life; the later life replaces
		// it as after a destroy. No claim ends a life that this grid created since the loss.
		t.end(r)
		return t.adopt(c.Ref, r), true, nil
	}
	return nil, false, fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
}

// adopt begins a life that nothing but a holder's word vouches for.
func (t *Table) adopt(ref attachment.Ref, ended *record) *record {
	t.begin(ref, ended)
	r := t.records[ref.Definition.Name()]
	r.Adopted = true
	return r
}

// grant extends the slot's grant to the ceiling and returns all of it.
func (s *SlotState) grant(b Bounds) attachment.Attachment {
	s.Free = max(s.Free, b.Ceiling)
	return attachment.Attachment{ID: s.ID, Node: s.Node, Grant: attachment.Grant{From: s.From,
		Until: max(s.From, b.Ceiling)}}
}
