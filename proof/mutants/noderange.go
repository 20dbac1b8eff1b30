package main

// nodeRangeTests guard the logical nodes that holders can have.
var (
	nodeRangeTests      = []string{"./sequencer", "-run", "NodeRange"}
	nodeRangeTableTests = []string{"./partition", "-run", "OutsideTheRange"}
	nodeRangeStoreTests = []string{"./client/store", "-run", "NodeRange"}
	otherRangeTests     = []string{"./client/store", "-run", "OtherNodes"}
	nodeRangeHTTPTests  = []string{"./grid", "-run", "NodeRange"}
)

// nodeRangeMutants grant nodes that belong to another generator, or lose the range on the way.
var nodeRangeMutants = []mutant{
	{"range", "a range may end above the nodes", "sequencer/noderange.go", "int(r.Hi) >= nodes", "int(r.Hi) > nodes",
		nodeRangeTests},
	{"range", "a range may be empty", "sequencer/noderange.go", "r.Lo > r.Hi || ", "", nodeRangeTests},
	{"range", "the range of all nodes is printed", "sequencer/definition.go",
		"d.nodes != (NodeRange{Hi: NodeID(d.layout.nodes() - 1)})", "d.nodes != (NodeRange{})", nodeRangeTests},
	{"range", "messages and records have the range of all nodes", "internal/attachment/shortconfig.go",
		"cfg.NodeRange = sequencer.NodeRange{}", "_ = cfg", []string{"./internal/attachment", "-run", "ShortConfig"}},
	{"range", "the range is not part of a definition", "sequencer/noderange.go", "return r, nil",
		"return NodeRange{Hi: NodeID(nodes - 1)}, nil", nodeRangeTests},
	{"range", "nodes below the range are granted", "partition/record.go", "max(r.unslotted, int(nodes.Lo))", "r.unslotted",
		nodeRangeTableTests},
	{"range", "nodes above the range are granted", "partition/record.go", "r.unslotted <= int(nodes.Hi)",
		"r.unslotted < r.Ref.Definition.Config().Nodes", nodeRangeTableTests},
	{"range", "a preference outside the range is granted", "partition/record.go", "!p.Any && r.Ref.HasNode(p.Node)",
		"!p.Any && int(p.Node) < r.Ref.Definition.Config().Nodes", nodeRangeTableTests},
	{"range", "a renewal outside the range attaches", "partition/table.go", "!c.Ref.HasNode(c.Node)",
		"int(c.Node) >= c.Ref.Definition.Config().Nodes", nodeRangeTableTests},
	{"range", "the range is lost on the wire", "internal/wire/messages.go",
		"NodeRange: NodeRange(cfg.NodeRange),\n\t\tLife", "\n\t\tLife", wireTests},
	{"range", "the range is ignored on the wire", "internal/wire/messages.go",
		"NodeRange: sequencer.NodeRange(s.NodeRange),", "", wireTests},
	{"range", "a create ignores the range", "internal/wire/messages.go",
		"NodeRange: sequencer.NodeRange(r.NodeRange)}", "}", wireTests},
	{"range", "a grant's token loses the range", "internal/wire/granttoken.go",
		"uint64(s.NodeRange.Lo), uint64(s.NodeRange.Hi)",
		"0, 0", wireTests},
	{"range", "the range is lost on the disk", "grid/internal/definitions/record.go",
		"if nodes := cfg.NodeRange; nodes != (sequencer.NodeRange{}) {", "if nodes := cfg.NodeRange; nodes.Lo == 9999 {",
		[]string{"./grid/internal/definitions"}},
	{"range", "the range is not in a store's document", "internal/record/document.go",
		"Layout: b.Layout, NodeRange: b.NodeRange}",
		"Layout: b.Layout}", []string{"./internal/record", "-run", "DocumentCarries"}},
	{"range", "a store has records from node 0 on", "client/store/initialise.go",
		"slots, first := rs.slots(d), d.Definition.Config().NodeRange.Lo", "slots, first := rs.slots(d), sequencer.NodeID(0)",
		nodeRangeStoreTests},
	{"range", "a store has records for all nodes", "client/store/initialise.go", "min(rs.cfg.Pool, d.Ref().Nodes())",
		"min(rs.cfg.Pool, d.Definition.Config().Nodes)", nodeRangeStoreTests},
	{"range", "a store counts the nodes of the life before", "internal/record/document.go",
		"d.Initialized, d.Counted = false, d.Life //", "_ = d.Counted //", otherRangeTests},
	{"range", "a store moves the marker before the records", "client/store/initialise.go",
		"return rs.reuse(ctx, d, first+sequencer.NodeID(i))", "_ = first; return nil", otherRangeTests},
	{"range", "a store keeps the marker of the life before", "client/store/initialise.go",
		"return rs.move(ctx, d, m, e.Revision)", "_ = m\n\t\treturn nil", otherRangeTests},
	{"range", "a store uses the marker of another life", "client/store/look.go", "case err != nil || m.Life == counted:",
		"case true:", otherRangeTests},
	{"range", "a record of an interrupted call is not reused", "internal/record/operate.go",
		"r.empty() || r.State == Held:", "true:", otherRangeTests},
	{"range", "a closed record of an earlier life is not written", "internal/record/operate.go",
		"r.empty() || r.State == Held:", "r.empty() || r.State == Held || r.State == Closed:",
		[]string{"./client/store", "-run", "LateScale"}},
	{"range", "a store scales beyond the range", "client/store/operate.go", "most := d.Ref().Nodes()",
		"most := d.Definition.Config().Nodes", nodeRangeStoreTests},
	{"range", "the alert counts another generator's nodes", "grid/sequenceralerts.go",
		"nodes := q.NodeRange.Count(q.Nodes)", "nodes := q.Nodes", []string{"./grid", "-run", "Alert"}},
	{"range", "POST /v1/ids ignores the range", "grid/internal/api/ids.go", "NodeRange: in.Create.NodeRange}", "}",
		nodeRangeHTTPTests},
	{"range", "POST /v1/grants ignores the range", "grid/internal/host/grants.go", "NodeRange: c.NodeRange}", "}",
		nodeRangeHTTPTests},
}
