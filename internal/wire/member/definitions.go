package member

import (
	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/partition"
)

// StoredRequest reports to owners which tables of their partitions a replica has on disk.
type StoredRequest struct {
	Replica roster.Incarnation `json:"replica"`
	Stored  []Stored           `json:"stored"` // at most MaxStored
}

// Stored is the position of one partition's table on disk.
type Stored struct {
	Partition roster.PartitionID `json:"partition"`
	Position  backup.Position    `json:"position"`
}

// StoredResponse answers a StoredRequest. An owner ignores reports that it cannot use.
type StoredResponse struct{}

// CollectRequest requests a partition's definitions from a member's disk, page by page.
type CollectRequest struct {
	Partition roster.PartitionID `json:"partition"`
	Term      roster.Term        `json:"term"`            // the requesting owner's
	Lost      roster.Term        `json:"lost"`            // of the loss that caused the request
	After     string             `json:"after,omitempty"` // the last name of the page before; "" for the first page
	Revision  uint64             `json:"revision"`        // of the page before; 0 for the first page
}

// CollectResponse is one page. If the disk has changed between two pages, Revision differs from the
// requested one and the page is the first one again.
type CollectResponse struct {
	Revision    uint64      `json:"revision"`
	Definitions Definitions `json:"definitions"`
	More        bool        `json:"more,omitempty"` // another page follows
}

// Definitions is a page of a partition's stored definitions.
type Definitions struct {
	Base    clustertime.Tick `json:"base"`
	Records []Definition     `json:"records,omitempty"`
}

// Definition is one stored name.
type Definition struct {
	Sequencer wire.Sequencer   `json:"sequencer"`
	Destroyed bool             `json:"destroyed,omitempty"`
	Mark      clustertime.Tick `json:"mark,omitempty"`
}

// MaxStored limits the partitions in one StoredRequest.
const MaxStored = 8192

// DefinitionsOf returns the wire form of stored definitions.
func DefinitionsOf(d partition.Definitions) Definitions {
	out := Definitions{Base: d.Base}
	for _, r := range d.Records {
		out.Records = append(out.Records,
			Definition{Sequencer: wire.SequencerOf(r.Ref), Destroyed: r.Destroyed, Mark: r.Mark})
	}
	return out
}

// State checks a page and returns it. Errors match wire.ErrBadRequest, or sequencer.ErrInvalidConfig
// for a definition that no sequencer can have.
func (d Definitions) State() (partition.Definitions, error) {
	out := partition.Definitions{Base: d.Base}
	if d.Base < 0 {
		return out, failure.Errorf(wire.ErrBadRequest, "grid: base %d is negative", d.Base)
	}
	for i, r := range d.Records {
		state, err := r.State()
		if err != nil {
			return out, err
		}
		if i > 0 && d.Records[i-1].Sequencer.Name >= r.Sequencer.Name {
			return out, failure.Errorf(wire.ErrBadRequest, "grid: the definition of %.100q is out of order or listed twice",
				r.Sequencer.Name)
		}
		out.Records = append(out.Records, state)
	}
	return out, nil
}

// State checks one stored name and returns it. Errors match wire.ErrBadRequest, or sequencer.ErrInvalidConfig
// for a definition that no sequencer can have.
func (d Definition) State() (partition.DefinitionRecord, error) {
	ref, err := d.Sequencer.Ref()
	switch {
	case err != nil:
		return partition.DefinitionRecord{}, err
	case ref.Life.IsZero():
		return partition.DefinitionRecord{}, failure.Errorf(wire.ErrBadRequest, "grid: the definition of %v names no life",
			ref.Definition)
	case d.Mark < 0 || d.Mark != 0 && !d.Destroyed:
		return partition.DefinitionRecord{}, failure.Errorf(wire.ErrBadRequest, "grid: the definition of %v has the mark %d",
			ref.Definition, d.Mark)
	}
	return partition.DefinitionRecord{Ref: ref, Destroyed: d.Destroyed, Mark: d.Mark}, nil
}
