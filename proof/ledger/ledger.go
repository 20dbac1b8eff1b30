package ledger

import (
	"errors"
	"fmt"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// What must never be.
var (
	// ErrOverlap means that two attachments may use one timestamp of a node.
	ErrOverlap = errors.New("grants of two attachments overlap")
	// ErrTwice means that an ID was made twice.
	ErrTwice = errors.New("an ID was made twice")
	// ErrOrder means that a handle's IDs do not ascend.
	ErrOrder = errors.New("a handle's IDs do not ascend")
	// ErrOutside means that an ID lies outside what its attachment was granted.
	ErrOutside = errors.New("an ID is outside its grants")
)

// Holding is one attachment's tenure of one logical node of one name. A name's
// lives share their nodes: equal IDs of two lives are equal IDs.
type Holding struct {
	Name string
	Node sequencer.NodeID
	ID   attachment.ID
}

// Ledger is everything that was granted and issued. The zero value is not one;
// see [New].
type Ledger struct {
	nodes   map[node]*account
	handles map[string]sequencer.ID // the last ID of each handle
	ids     int64
	grants  int64
}

// node is a logical node of a name, for all its lives.
type node struct {
	name string
	id   sequencer.NodeID
}

// account is one node's past.
type account struct {
	granted spans[attachment.ID]
	issued  spans[struct{}]
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{nodes: map[node]*account{}, handles: map[string]sequencer.ID{}}
}

// IDs returns how many IDs were checked.
func (l *Ledger) IDs() int64 { return l.ids }

// Grants returns how many grants were checked.
func (l *Ledger) Grants() int64 { return l.grants }

func (l *Ledger) account(name string, id sequencer.NodeID) *account {
	key := node{name, id}
	a := l.nodes[key]
	if a == nil {
		a = &account{}
		l.nodes[key] = a
	}
	return a
}

// Granted notes a grant that a holder may use from now on. It is an error if any
// of its timestamps is another attachment's.
func (l *Ledger) Granted(h Holding, g attachment.Grant) error {
	if g.Empty() {
		return nil
	}
	l.grants++
	have, overlaps := l.account(h.Name, h.Node).granted.add(int64(g.From), int64(g.Until), h.ID)
	if !overlaps {
		return nil
	}
	return fmt.Errorf("%w: sequencer %q, logical node %d: %s was granted %d to %d, and %s has %d to %d", ErrOverlap,
		h.Name, h.Node, h.ID, g.From, g.Until, have.of, have.from, have.until)
}

// Released records that a holder reported its last used timestamp: its grants above that
// no longer belong to any attachment.
func (l *Ledger) Released(h Holding, lastUsed clustertime.Tick) {
	l.account(h.Name, h.Node).granted.cut(int64(lastUsed+1), h.ID)
}

// Issued records IDs that a handle issued, in their order, for its attachment. It is an
// error if one was issued before by any handle, is not above the handle's last one, or lies
// outside the grants of the attachment.
func (l *Ledger) Issued(handle string, h Holding, def sequencer.Definition, ids []sequencer.ID) error {
	if len(ids) == 0 {
		return nil
	}
	var fault error // the first one, but for an ID that was made twice
	last, known := l.handles[handle]
	for begin := 0; begin < len(ids); {
		end := begin + 1
		for end < len(ids) && ids[end] == ids[end-1]+1 {
			end++
		}
		if known && ids[begin] <= last && fault == nil {
			fault = fmt.Errorf("%w: handle %s: ID %d follows %d", ErrOrder, handle, ids[begin], last)
		}
		last, known = ids[end-1], true
		if err := l.run(h, def, ids[begin], last); err != nil && !errors.Is(fault, ErrTwice) {
			fault = fmt.Errorf("handle %s: %w", handle, err)
		}
		begin = end
	}
	if fault == nil {
		l.handles[handle] = last
	}
	l.ids += int64(len(ids))
	return fault
}

// run notes the IDs from first to last, which follow each other as numbers.
func (l *Ledger) run(h Holding, def sequencer.Definition, first, last sequencer.ID) error {
	var outside error // the IDs are noted all the same
	for first <= last {
		parts := def.Decompose(first)
		if parts.Node != h.Node {
			return fmt.Errorf("%w: ID %d is of logical node %d, and its attachment has %d", ErrOutside, first,
				parts.Node, h.Node)
		}
		counters := int64(1) << def.Config().Layout.LowBits / int64(def.Config().Nodes)
		n := min(int64(last-first)+1, counters-int64(parts.Counter))
		at := parts.Time.UnixMilli()
		a := l.account(h.Name, h.Node)
		if of, found := a.granted.at(at); !found || of != h.ID {
			outside = fmt.Errorf("%w: ID %d has timestamp %d, which attachment %s was not granted", ErrOutside, first, at, h.ID)
		}
		slot := at*counters + int64(parts.Counter)
		if _, overlaps := a.issued.addNew(slot, slot+n); overlaps {
			return fmt.Errorf("%w: sequencer %q: of %d IDs from %d (%s, logical node %d, counter %d) some were made before",
				ErrTwice,
				h.Name, n, first, parts.Time, parts.Node, parts.Counter)
		}
		first += sequencer.ID(n)
	}
	return outside
}

// Forget drops the state of a handle that has ended.
func (l *Ledger) Forget(handle string) { delete(l.handles, handle) }
