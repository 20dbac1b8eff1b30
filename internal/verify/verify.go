// Package verify checks the existing IDs in a table, whichever generator made them.
//
//	rows -> reader: times, nodes, order -> sorted runs -> merge: duplicates, counts, hosts -> Report
//
// The reader checks single rows, and whether a node's time goes back. All other checks need the rows sorted by ID.
// Runs with a fixed size are sorted and stored in a temporary file, so memory does not grow with the table.
package verify

import (
	"context"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Config states the IDs' format and limits.
type Config struct {
	Format foreign.Format
	// Nodes are the generator's nodes; an ID with another one is foreign. nil allows all.
	Nodes *NodeRange
	// Since and Until are the first and the last allowed time. Zero stands for the epoch, and for no end.
	Since, Until time.Time
	// Order states whether the rows are in the order in which the IDs were made.
	Order Order
	// Reassigned allows a node to pass from one host to another; hosts that take turns within Handover are a
	// problem all the same.
	Reassigned bool
	Columns    Columns
	// Show is the maximum number of findings in the report for each kind. All are counted.
	Show int
	// TempDir is the directory for the temporary file; "" is the system's.
	TempDir string

	chunk int // rows in a run, for tests; 0 = chunkRows
}

// Handover is the time within which a node does not return to a host that it was taken from.
const Handover = 10 * time.Second

// NodeRange includes both ends.
type NodeRange struct{ Lo, Hi uint32 }

// Order states how the rows are ordered.
type Order int

const (
	// Auto takes the rows as ordered unless the time goes back in more than one row out of 20.
	Auto Order = iota
	// Made is the order in which the IDs were made.
	Made
	// Unordered is any other; steps back in time are not reported.
	Unordered
)

// Kind classifies findings.
type Kind string

// The kinds of findings.
const (
	Duplicate  Kind = "duplicate"   // the ID is in an earlier line
	NotAnID    Kind = "not_an_id"   // no decimal number below 2^63
	Foreign    Kind = "foreign"     // more bits than the format, or a node outside the range
	Early      Kind = "early"       // a time before the epoch, or before Since
	Future     Kind = "future"      // a time after Until
	Overfull   Kind = "overfull"    // a node has more rows in one unit than the format has counters
	Backwards  Kind = "backwards"   // the time is before the node's previous row
	SharedNode Kind = "shared_node" // several hosts have IDs with one node
)

// kinds lists all kinds as reports order them.
var kinds = [...]Kind{Duplicate, NotAnID, Foreign, Early, Future, Overfull, Backwards, SharedNode}

// Finding is a problem with one row.
type Finding struct {
	Kind Kind         `json:"kind"`
	Line uint64       `json:"line"`
	ID   sequencer.ID `json:"id"`
	Text string       `json:"text,omitempty"` // the row if it is not an ID, at most 40 bytes
	// With is the other row's line: the first one with the ID, the node's previous row, or the other host's.
	With uint64 `json:"with,omitempty"`
	// Hosts are a shared node's hosts, ordered by their IDs.
	Hosts []string `json:"hosts,omitempty"`
	// Back is the distance to the earlier time.
	Back time.Duration `json:"back_ns,omitempty"`
	// Count is the number of rows in an overfull unit.
	Count uint64 `json:"count,omitempty"`
}

// Bound is the smallest or largest ID.
type Bound struct {
	ID   sequencer.ID `json:"id"`
	Line uint64       `json:"line"`
	Time time.Time    `json:"time"`
}

// RareNode is a node with few IDs.
type RareNode struct {
	Node uint32 `json:"node"`
	Rows uint64 `json:"rows"`
	Line uint64 `json:"line"` // the first one
}

// Report is a check's result.
type Report struct {
	Rows   uint64 `json:"rows"`
	IDs    uint64 `json:"ids"` // rows that are IDs in the format
	Header string `json:"header,omitempty"`
	Blank  uint64 `json:"blank,omitempty"` // empty lines
	First  Bound  `json:"first,omitzero"`
	Last   Bound  `json:"last,omitzero"`
	Nodes  int    `json:"nodes"`
	// Rare are nodes with far fewer IDs than others; their rows may be another table's. They are not problems.
	Rare     []RareNode      `json:"rare_nodes,omitempty"`
	Hosts    int             `json:"hosts,omitempty"`
	Ordered  bool            `json:"ordered"` // steps back in time were looked for
	Problems map[Kind]uint64 `json:"problems"`
	Findings []Finding       `json:"findings"`

	density *density
}

// Clean reports whether nothing was found.
func (r *Report) Clean() bool { return len(r.Problems) == 0 }

// Kinds returns the kinds with findings, as reports order them.
func (r *Report) Kinds() (found []Kind) {
	for _, k := range kinds {
		if r.Problems[k] > 0 {
			found = append(found, k)
		}
	}
	return found
}

// Of returns the kept findings for a kind.
func (r *Report) Of(k Kind) (out []Finding) {
	for _, f := range r.Findings {
		if f.Kind == k {
			out = append(out, f)
		}
	}
	return out
}

// findings counts problems, and keeps the first ones for each kind.
type findings struct {
	show  int
	count map[Kind]uint64
	kept  map[Kind][]Finding
}

func (f *findings) add(found Finding) {
	f.count[found.Kind]++
	if len(f.kept[found.Kind]) < f.show {
		f.kept[found.Kind] = append(f.kept[found.Kind], found)
	}
}

// Check reads all rows and reports on them. It returns ctx's error when ctx ends, even if a read blocks; that read
// then continues without effect. progress, if not nil, is updated meanwhile.
func Check(ctx context.Context, cfg Config, in io.Reader, progress *Progress) (*Report, error) {
	if progress == nil {
		progress = &Progress{}
	}
	sorted, err := newRuns(cfg.TempDir)
	if err != nil {
		return nil, err
	}
	defer sorted.close()
	r := newReader(ctx, cfg, progress)
	go r.run(in)
	for {
		select {
		case chunk, more := <-r.chunks:
			if !more {
				return finish(ctx, cfg, r, sorted, progress)
			}
			if err := sorted.add(chunk); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// finish merges the runs after the last row.
func finish(ctx context.Context, cfg Config, r *reader, sorted *runs, progress *Progress) (*Report, error) {
	if r.err != nil {
		return nil, r.err
	}
	out := &Report{
		Rows: r.rows, IDs: r.ids, Header: r.header, Blank: r.blank, First: r.first.bound(cfg.Format),
		Last: r.last.bound(cfg.Format), Nodes: len(r.nodes), Rare: r.rare(), Hosts: len(r.hosts.names), Ordered: r.ordered(),
	}
	if !out.Ordered {
		delete(r.found.count, Backwards)
		delete(r.found.kept, Backwards)
	}
	out.density = newDensity(r)
	m := merger{cfg: cfg, found: &r.found, hosts: r.hosts.names, density: out.density, owners: map[uint32]*owner{}}
	progress.Merging.Store(true)
	rows := uint64(0)
	err := sorted.merge(func(row row) error {
		if rows++; rows&0xffff == 0 {
			progress.Merged.Store(rows)
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
		}
		m.add(row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.end()
	out.Problems, out.Findings = r.found.count, []Finding{}
	for _, k := range kinds {
		out.Findings = append(out.Findings, r.found.kept[k]...)
	}
	return out, nil
}
