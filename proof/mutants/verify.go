package main

// verifyTests guard the check of existing IDs.
var verifyTests = []string{"./internal/verify"}

// verifyMutants overlook a fault in a table, or report one that is none.
var verifyMutants = []mutant{
	{"verify", "equal IDs in different runs are overlooked", "internal/verify/runs.go",
		"h.id == o.id && h.line() < o.line()", "h.id == o.id && h.line() > o.line()", verifyTests},
	{"verify", "the last row is left out", "internal/verify/reader.go", "r.err == nil {\n\t\tr.send()",
		"r.err != nil {\n\t\tr.send()", verifyTests},
	{"verify", "the run in memory is left out", "internal/verify/runs.go", "heap.push(&head{memory: s.pending})",
		"heap.push(&head{memory: s.pending[:0]})", verifyTests},
	{"verify", "a row at the last allowed time is in the future", "internal/verify/reader.go",
		"case ticks > r.until:", "case ticks >= r.until:", verifyTests},
	{"verify", "a full millisecond is overfull", "internal/verify/merge.go", "n > 1<<m.cfg.Format.CounterBits",
		"n >= 1<<m.cfg.Format.CounterBits", verifyTests},
	{"verify", "rows of the unit before count", "internal/verify/merge.go", "clear(m.unit.rows)", "", verifyTests},
	{"verify", "nodes share one time", "internal/verify/reader.go", "of == nil || of.node != node", "of == nil",
		verifyTests},
	{"verify", "a number of 64 bits is an ID", "internal/verify/reader.go", "return id, false, id < 1<<63",
		"return id, false, true", verifyTests},
	{"verify", "hosts may take turns", "internal/verify/merge.go", "ticks-o.beforeTicks <= handover",
		"ticks-o.beforeTicks <= handover && false", verifyTests},
	{"verify", "a digit is not sorted", "internal/verify/runs.go", "shift < 64; shift += digitBits",
		"shift < 55; shift += digitBits", verifyTests},
}
