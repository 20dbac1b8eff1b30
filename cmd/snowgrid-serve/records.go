package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

type sequencerRecords struct {
	Name      string              `json:"name"`
	State     string              `json:"state,omitempty"`
	Epoch     time.Time           `json:"epoch,omitzero"`
	Ends      time.Time           `json:"exhausted,omitzero"`
	Nodes     int                 `json:"nodes,omitempty"`
	Layout    sequencer.Layout    `json:"layout,omitzero"`
	NodeRange sequencer.NodeRange `json:"node_range,omitzero"`
	Slots     int                 `json:"slots,omitempty"` // in use: the first nodes of the range
	Trouble   string              `json:"trouble,omitempty"`
	Records   []nodeRecord        `json:"records"`

	first sequencer.NodeID // of the range
}

// nodeRecord is one logical node's record as the store has it.
type nodeRecord struct {
	Node     sequencer.NodeID `json:"node"`
	State    string           `json:"state"` // free, held, late, retired, closed, missing or damaged
	Task     string           `json:"task,omitempty"`
	Version  uint64           `json:"version"`
	From     time.Time        `json:"from,omitzero"`
	Until    time.Time        `json:"until,omitzero"`
	Bound    time.Time        `json:"bound,omitzero"`
	LastUsed time.Time        `json:"last_used,omitzero"`
	Graceful bool             `json:"graceful"`
	Trouble  string           `json:"trouble,omitempty"`
}

// readStore reads a store's sequencers, sorted by name; a non-empty name selects one. Unreadable
// parts are reported in their Trouble fields.
func readStore(ctx context.Context, s store.Store, name string, at moments) ([]sequencerRecords, error) {
	prefix := ""
	if name != "" {
		prefix = record.KeysOf("", name).Folder()
	}
	entries, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	found := map[string]*sequencerRecords{}
	for _, e := range entries {
		of, part, node := record.ParseKey("", e.Key)
		if part == record.PartOther {
			continue
		}
		q := found[of]
		if q == nil {
			q = &sequencerRecords{Name: of, Records: []nodeRecord{}}
			found[of] = q
		}
		if e.Body == nil {
			if e, err = s.Load(ctx, e.Key); errors.Is(err, store.ErrNoRecord) {
				continue // deleted since it was listed
			} else if err != nil {
				return nil, err
			}
		}
		q.add(part, node, e, at)
	}
	all := []sequencerRecords{}
	for _, q := range found {
		q.finish()
		all = append(all, *q)
	}
	slices.SortFunc(all, func(a, b sequencerRecords) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func (q *sequencerRecords) add(part record.Part, node sequencer.NodeID, e store.Entry, at moments) {
	switch part {
	case record.PartDocument:
		d, err := record.DecodeDocument(e.Body)
		if err != nil {
			q.Trouble = err.Error()
			return
		}
		cfg := d.Definition.Config()
		q.State, q.Epoch, q.Ends = d.Phase.String(), cfg.Epoch.Time(), d.Definition.Exhausted()
		q.Nodes, q.Layout, q.first = cfg.Nodes, cfg.Layout, cfg.NodeRange.Lo
		q.NodeRange = attachment.ShortConfig(d.Definition).NodeRange
	case record.PartMarker:
		m, err := record.DecodeMarker(e.Body)
		if err != nil {
			q.Trouble = err.Error()
			return
		}
		q.Slots = m.Slots
	case record.PartRecord:
		r, err := record.Decode(e.Body, e.Meta)
		if err != nil {
			q.Records = append(q.Records, nodeRecord{Node: node, State: "damaged", Trouble: err.Error()})
			return
		}
		q.Records = append(q.Records, describe(node, r, at))
	}
}

// aheadLeast is the minimum lead over this clock at which a grant is trouble, for a window up to
// half that long.
const aheadLeast = 5 * time.Minute

// moments are the times that records are compared with.
type moments struct{ now, ahead time.Time }

// momentsAt returns the moments for reading a store whose holders have a window, 0 if unknown.
func momentsAt(now time.Time, window time.Duration) moments {
	return moments{now, now.Add(max(aheadLeast, 2*window))}
}

// describe returns a record for people.
func describe(node sequencer.NodeID, r record.Record, at moments) nodeRecord {
	state, trouble := r.State.String(), ""
	if r.State == record.Held && clustertime.TickOf(at.now) > r.Timestamp {
		state = "late" // others may take it
	}
	if max(r.Bound, r.Timestamp) > clustertime.TickOf(at.ahead) && r.State != record.Closed {
		trouble = "granted far ahead of this clock; check the clocks and the windows of all processes, then see " +
			"snowgrid-serve repair --help"
	}
	return nodeRecord{
		Node: node, State: state, Task: r.Task, Version: r.Version,
		From: r.From.TimeOrZero(), Until: r.Until.TimeOrZero(), Bound: r.Bound.TimeOrZero(),
		LastUsed: r.LastUsed.TimeOrZero(), Graceful: r.Graceful, Trouble: trouble,
	}
}

// finish sorts the records, and adds records that the marker promises and the store lacks.
func (q *sequencerRecords) finish() {
	there := map[sequencer.NodeID]bool{}
	for _, r := range q.Records {
		there[r.Node] = true
	}
	for i := range sequencer.NodeID(q.Slots) {
		if node := q.first + i; !there[node] {
			q.Records = append(q.Records, nodeRecord{Node: node, State: "missing",
				Trouble: "deleted; see snowgrid-serve repair --help"})
		}
	}
	slices.SortFunc(q.Records, func(a, b nodeRecord) int { return cmp.Compare(a.Node, b.Node) })
	if q.State == "" && q.Trouble == "" {
		q.Trouble = "its document sequencer.json is missing; restore it from a backup"
	}
}
