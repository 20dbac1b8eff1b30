package main

const (
	holdingFile = "internal/record/holding.go"
	takeFile    = "internal/record/take.go"
	operateFile = "internal/record/operate.go"
	endFile     = "internal/record/document.go"
)

// exploreRecordMutants weaken the record machine, which proof/explore runs in every order of
// events. Each has a scope with its name there (explore.RecordMutants, explore.FailoverMutants).
var exploreRecordMutants = []mutant{
	{"H2", "bound ignored by a take", takeFile, "max(b.Now, r.Bound, b.Mark, b.Epoch)", "max(b.Now, b.Mark, b.Epoch)",
		recordScope("bound ignored by a take")},
	{"H4", "used before the swap is known", holdingFile, "case a == Landed:", "case a != Refused:",
		recordScope("used before the swap is known")},
	{"H3", "record of another of its task extended", takeFile, "	case r.HeldBy(id):\n	case",
		"	case r.State == Held:\n	case", recordScope("record of another of its task extended")},
	{"H3", "extension written where another is", holdingFile, "	want, err := h.now.Extend(",
		"	h.now.State, h.now.Attachment, h.now.From = Held, h.id, h.grant.From\n	want, err := h.now.Extend(", recordScope(
			"extension written where another is")},
	{"H4", "holder of its task found", holdingFile, "s.Record.Nonce == h.pending.Nonce:",
		"s.Record.State == Held && s.Record.Task == h.pending.Task:", recordScope("holder of its task found")},
	{"H3", "bound falls to until", takeFile,
		"	r.Until = max(r.Until, b.Now.Add(b.Window))\n	r.Bound = max(r.Bound, r.Until)",
		"	r.Until = max(r.From, b.Now.Add(b.Window))\n	r.Bound = r.Until", recordScope("bound falls to until")},
	{"H5", "returned below from", takeFile, "max(r.From, used+1)", "used + 1", recordScope("returned below from")},
	{"H5", "answer accepted after the stop", holdingFile, "	if h.phase == Returning {\n		h.giveBack(fresh)",
		"	if h.phase == Returning {\n		h.landed, h.grant = true, r.Grant()\n		h.giveBack(fresh)", recordScope(
			"answer accepted after the stop")},
	{"H6", "bound forgotten when retired", operateFile, "	r = r.unheld(Retired, nonce)\n	r.Life = life\n	return r, " +
		"true, nil", "	r = r.unheld(Retired, nonce)\n	r.Life, r.Bound = life, 0\n	return r, true, nil", recordScope(
		"bound forgotten when retired")},
	{"H7", "destroyed without closing the records", endFile, "if r.State != Closed || r.Life != d.Life {", "if false {",
		recordScope("destroyed without closing the records")},
	{"H7", "closed record keeps its holder", operateFile, "	r = r.unheld(Closed, nonce)\n",
		"	r.State, r.Nonce = Closed, nonce\n", recordScope("closed record keeps its holder")},
	{"H7", "mark of one node", endFile, "d.Mark = max(d.Mark, r.Bound)", "d.Mark = r.Bound",
		recordScope("mark of one node")},
	{"H8", "mark not used", takeFile, "max(b.Now, r.Bound, b.Mark, b.Epoch)", "max(b.Now, r.Bound, b.Epoch)",
		recordScope("mark not used")},
	{"H8", "life not looked at", takeFile, "	if err := r.takeable(b.Life); err != nil {",
		"	if err := r.takeable(b.Life); err != nil && b.Window < 0 {", recordScope("life not looked at")},
	{"Q2", "no quarantine", takeFile, "from = max(from, b.Now.Add(b.Quarantine))", "_ = b.Quarantine",
		failoverScope("no quarantine")},
	{"Q4", "extended under a new generation", takeFile, "	if r.Generation != b.Generation {\n		return Record{}",
		"	if r.Version < 0 {\n		return Record{}", failoverScope("extended under a new generation")},
	{"Q6", "whole window in quarantine", takeFile, "until := max(from, b.Now.Add(b.Window))",
		"until := from.Add(b.Window)", failoverScope("whole window in quarantine")},
}

// foundRecord lets an attachment continue with a record found in place of its own, which other
// rules forbid as well (H4).
var foundRecord = edit{holdingFile, "	default:\n		h.lose(h.takenBy(s.Record))",
	"	case h.phase == Holds && !s.Record.Attachment.IsZero():\n		h.now, h.revision, h.pending, h.copies = s.Record, " +
		"s.Revision, nil, 0\n	default:\n		h.lose(h.takenBy(s.Record))"}

// recordUnseen are record mutants that the simulation cannot kill, with the reason.
var recordUnseen = map[string]string{
	"a grant begins before the epoch":            "the time of the simulation is long after it",
	"an extension reports more than was granted": "it costs ticks, and makes no ID twice",
	"a taken record keeps its version":           "a version is for people and other programs",
	"a record of another attachment is extended": "an attachment that finds another one's record has " +
		"lost its own",
	"an attachment that finds a body it has not written continues": "no process of the simulation is cloned with its " +
		"attachment",
	"a refused copy counts although an earlier one may have landed": "it costs a node until it expires",
	"an answer after a stop changes the grant":                      "the handle has stopped as well",
	"a record of another attachment is returned": "an attachment that finds another one's record has " +
		"lost its own",
	"a retired record is taken": "its bound stands, so it is only used against the " +
		"operator's wish",
	"records of an earlier destroy count as closed": "the records of a life are taken long before it is " +
		"destroyed",
	"a life is created while another ends": "a holder of the simulation finishes a destroy before it " +
		"creates",
	"a record of an emptied store's life is taken":            "no store of the simulation is emptied",
	"a record beyond the slots is enlisted for an ended life": "the number of records does not change",
	"an empty body shows everything":                          "no other program writes to the store",
	"extended at another server": "an extension names the server of its record, and the " +
		"other one refuses it (Q3)",
	"the layout is not in a store's document": "the holders of the simulation have one layout",
	"an expired record is extended":           "it is only used against the manners of the store",
}
