package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/record"
	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// sequencerRecords is one sequencer as the store has it.
type sequencerRecords struct {
	Name    string           `json:"name"`
	State   string           `json:"state,omitempty"`
	Epoch   time.Time        `json:"epoch,omitzero"`
	Ends    time.Time        `json:"exhausted,omitzero"`
	Nodes   int              `json:"nodes,omitempty"`
	Layout  sequencer.Layout `json:"layout,omitzero"`
	Slots   int              `json:"slots,omitempty"` // in use: the nodes 0 to Slots-1
	Trouble string           `json:"trouble,omitempty"`
	Records []nodeRecord     `json:"records"`
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

// timeOf returns a tick as a time, the zero time for none.
func timeOf(t clustertime.Tick) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.Time()
}

// readStore reads the sequencers of a store, sorted by name; name limits them to one if it
// is not empty. What cannot be read is in the Trouble of its place.
func readStore(ctx context.Context, s store.Store, name string, now time.Time) ([]sequencerRecords, error) {
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
		q.add(part, node, e, now)
	}
	all := []sequencerRecords{}
	for _, q := range found {
		q.finish()
		all = append(all, *q)
	}
	slices.SortFunc(all, func(a, b sequencerRecords) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// add adds what one key says.
func (q *sequencerRecords) add(part record.Part, node sequencer.NodeID, e store.Entry, now time.Time) {
	switch part {
	case record.PartDocument:
		d, err := record.DecodeDocument(e.Body)
		if err != nil {
			q.Trouble = err.Error()
			return
		}
		def := d.Definition
		q.State, q.Epoch, q.Ends, q.Nodes, q.Layout = d.Phase.String(), def.Epoch().Time(), def.Exhausted(), def.Nodes(), def.Layout()
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
		q.Records = append(q.Records, describe(node, r, now))
	}
}

// describe returns a record for people.
func describe(node sequencer.NodeID, r record.Record, now time.Time) nodeRecord {
	state := r.State.String()
	if r.State == record.Held && clustertime.TickOf(now) > r.Timestamp {
		state = "late" // others may take it
	}
	return nodeRecord{
		Node: node, State: state, Task: r.Task, Version: r.Version, From: timeOf(r.From), Until: timeOf(r.Until),
		Bound: timeOf(r.Bound), LastUsed: timeOf(r.LastUsed), Graceful: r.Graceful,
	}
}

// finish sorts the records, and adds those that the marker promises and the store lacks.
func (q *sequencerRecords) finish() {
	there := map[sequencer.NodeID]bool{}
	for _, r := range q.Records {
		there[r.Node] = true
	}
	for node := range sequencer.NodeID(q.Slots) {
		if !there[node] {
			q.Records = append(q.Records, nodeRecord{Node: node, State: "missing", Trouble: "deleted; see snowgrid-serve repair --help"})
		}
	}
	slices.SortFunc(q.Records, func(a, b nodeRecord) int { return cmp.Compare(a.Node, b.Node) })
	if q.State == "" && q.Trouble == "" {
		q.Trouble = "its document sequencer.json is missing; restore it from a backup"
	}
}
