package snowflake

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Source generates IDs: a [*sequencer.Sequencer], or a [*sequencer.Striped], whose IDs ascend per logical node only.
type Source interface {
	Next(ctx context.Context) (sequencer.ID, error)
	Definition() sequencer.Definition
}

// Node generates IDs. Make one with [Use] or [UseCustom]. All methods may be called from any number of goroutines.
type Node struct {
	source     Source
	definition sequencer.Definition
}

// Use returns a node that takes its IDs from source, which must have [Epoch], [NodeBits] and [StepBits]. It calls
// neither the grid nor the store. Errors: [sequencer.ErrInvalidConfig].
func Use(source Source) (*Node, error) {
	n, err := UseCustom(source)
	if err != nil {
		return nil, err
	}
	cfg := n.definition.Config()
	low, nodes := cfg.Layout.LowBits, cfg.Nodes
	if cfg.Epoch != epoch.UnixMilli(Epoch) || low != int(NodeBits+StepBits) || nodes != 1<<NodeBits {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"snowflake: use: sequencer %v: ID.Time, ID.Node and ID.Step need another epoch or layout; create the sequencer "+
				"with sequencer.Twitter() and epoch.Twitter, or call UseCustom",
			n.definition)
	}
	return n, nil
}

// UseCustom returns a node that takes its IDs from source, with any epoch and layout. [Node.Time], [Node.Node] and
// [Node.Step] decompose them; [ID.Time], [ID.Node] and [ID.Step] return wrong parts unless [Use] accepts source, too.
// Errors: [sequencer.ErrInvalidConfig].
func UseCustom(source Source) (*Node, error) {
	missing := source == nil
	switch s := source.(type) {
	case *sequencer.Sequencer:
		missing = s == nil
	case *sequencer.Striped:
		missing = s == nil
	}
	if missing {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig,
			"snowflake: use: the sequencer is nil; give the result of CreateSequencer, and check its error before")
	}
	return &Node{source: source, definition: source.Definition()}, nil
}

// Generate returns the next ID. It waits while the grid or the store is unavailable, and panics with an error if
// waiting cannot help; see the package comment. The error matches the cause, such as [sequencer.ErrDestroyed] or
// [sequencer.ErrClosed].
func (n *Node) Generate() ID {
	id, err := n.source.Next(context.Background())
	if err != nil {
		panic(fmt.Errorf("snowflake: generate: %w; call GenerateContext for an error in place of a panic", err))
	}
	return ID(id)
}

// GenerateContext returns the next ID, or 0 and an error: when ctx ends a wait, and where Generate panics. A call that
// does not wait does not check ctx. Errors: as from [sequencer.Sequencer.Next].
func (n *Node) GenerateContext(ctx context.Context) (ID, error) {
	id, err := n.source.Next(ctx)
	if err != nil {
		return 0, fmt.Errorf("snowflake: generate: %w", err)
	}
	return ID(id), nil
}

// Time returns the Unix milliseconds of an ID from n's sequencer.
func (n *Node) Time(id ID) int64 { return n.definition.Decompose(sequencer.ID(id)).Time.UnixMilli() }

// Node returns the logical node of an ID from n's sequencer.
func (n *Node) Node(id ID) int64 { return int64(n.definition.Decompose(sequencer.ID(id)).Node) }

// Step returns the counter of an ID from n's sequencer.
func (n *Node) Step(id ID) int64 { return int64(n.definition.Decompose(sequencer.ID(id)).Counter) }
