package main

// foreignTests guard the migration from other generators.
var foreignTests = []string{"./internal/foreign"}

// foreignMutants read other generators' IDs wrongly, or plan IDs that could be equal to theirs.
var foreignMutants = []mutant{
	{"migration", "the node is always above the counter", "internal/foreign/foreign.go",
		"if f.NodeLow {\n\t\treturn ticks, low, high\n\t}\n", "", foreignTests},
	{"migration", "a sequencer begins at the largest ID", "internal/foreign/migration.go",
		"planned(cfg, last.Time.Add(r.Format.Unit))", "planned(cfg, last.Time)", foreignTests},
	{"migration", "a parallel sequencer has all nodes", "internal/foreign/migration.go", "cfg.NodeRange = nodes",
		"_ = nodes", foreignTests},
	{"migration", "the largest ID may have a node of the sequencer", "internal/foreign/migration.go",
		"last < uint32(old.Lo) || last > uint32(old.Hi)", "false", foreignTests},
	{"migration", "any generator runs in parallel", "internal/foreign/migration.go",
		"if f.Unit != time.Millisecond || f.NodeLow {", "if f.Unit != time.Millisecond {", foreignTests},
	{"migration", "a generator of seconds has a layout", "internal/foreign/migration.go",
		"if f.Unit != time.Millisecond || f.NodeLow {", "if f.NodeLow {", foreignTests},
	{"migration", "the epoch is not early enough", "internal/foreign/migration.go", "int64(id>>low) - 1\n",
		"int64(id>>(low+1))\n", foreignTests},
	{"migration", "a sequencer that ends soon is a plan", "internal/foreign/migration.go", "; left < leastLife {",
		"; left < 0 {", foreignTests},
}
