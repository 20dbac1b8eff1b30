package main

import (
	"fmt"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/sequencer"
)

type decodeCommand struct {
	ID string `arg:"" help:"The ID, in decimal digits."`
	definitionflags.Definition
	outputFlag
}

type decoded struct {
	ID      sequencer.ID     `json:"id"`
	Time    time.Time        `json:"time"`
	Node    sequencer.NodeID `json:"node"`
	Nodes   int              `json:"nodes"` // of the sequencer
	Counter int64            `json:"counter"`
	Epoch   time.Time        `json:"epoch"`
	Layout  string           `json:"layout"` // BITS/LOWBITS/NODES
}

func (d *decodeCommand) Run(to streams) error {
	id, err := sequencer.Parse(d.ID)
	if err != nil {
		return usage(err)
	}
	definition, err := sequencer.Define("decoded", d.Config())
	if err != nil {
		return usage(err)
	}
	parts, cfg := definition.Decompose(id), definition.Config()
	if !parts.Time.Before(definition.Exhausted()) {
		return usage(fmt.Errorf("ID %v has more than the %d bits of layout %v; give the --layout of its sequencer", id,
			cfg.Layout.Bits, cfg.Layout))
	}
	result := decoded{
		ID: id, Time: parts.Time, Node: parts.Node, Nodes: cfg.Nodes, Counter: int64(parts.Counter),
		Epoch: cfg.Epoch.Time(), Layout: cfg.Layout.String(),
	}
	return d.result(to.out, result, func(w io.Writer) {
		fmt.Fprintf(w, "id\t%v\ntime\t%s\nnode\t%d of %d\ncounter\t%d\nepoch\t%v\nlayout\t%v\n", id,
			parts.Time.Format(millisecondLayout), parts.Node, cfg.Nodes, parts.Counter, cfg.Epoch, cfg.Layout)
	})
}
