package main

var (
	recordTests      = []string{"./internal/record"}
	storeClientTests = []string{"./client/store"}
	initialiseTests  = []string{"./client/store", "-run", "HalfDone|MissingKey"}
)

// recordMutants weaken the rules on records in a store, H1 to H10 and Q1 to Q7.
var recordMutants = []mutant{
	{"H2", "a grant begins below the record's bound", "internal/record/take.go", "max(b.Now, r.Bound, b.Mark, b.Epoch)", "max(b.Now, b.Mark, b.Epoch)", recordTests},
	{"H2", "a grant begins before the epoch", "internal/record/take.go", "max(b.Now, r.Bound, b.Mark, b.Epoch)", "max(b.Now, r.Bound, b.Mark)", recordTests},
	{"E7", "an extension reports more than was granted", "internal/record/take.go", "min(b.Used, r.Until-1)", "b.Used", recordTests},
	{"E7", "a renewal does not report the last time used", "client/store/seat.go", "	bounds.Used = s.h.control.LastUsed(s.id)\n", "", []string{"./client/store", "-run", "Renewal"}},
	{"H4", "a refused take of an unchanged record is repeated without end", "internal/record/holding.go", "case s.Revision == h.revision && h.phase == Taking && h.refused && h.copies == 1:", "case false:", recordTests},
	{"H4", "a refused copy hides one whose fate is not known", "internal/record/holding.go", "h.refused && h.copies == 1:", "h.refused:", recordTests},
	{"H2", "a taken record keeps its version", "internal/record/take.go", "r.Version + 1", "r.Version", recordTests},
	{"H3", "a record of another attachment is extended", "internal/record/take.go", "	case r.HeldBy(id):\n	case", "	case r.State == Held:\n	case", recordTests},
	{"H3", "an extension lowers the bound", "internal/record/take.go", "	r.Until = max(r.Until, b.Now.Add(b.Window))\n	r.Bound = max(r.Bound, r.Until)", "	r.Until = max(r.From, b.Now.Add(b.Window))\n	r.Bound = r.Until", recordTests},
	{"H4", "an extension is used before it has landed", "internal/record/holding.go", "	h.pending, h.copies, h.refused = &want, 0, false\n	return nil", "	h.pending, h.copies, h.refused, h.grant = &want, 0, false, want.Grant()\n	return nil", recordTests},
	{"H4", "an unknown outcome counts as landed", "internal/record/holding.go", "case a == Landed:", "case a != Refused:", recordTests},
	{"H4", "a record of the same task counts as one's own", "internal/record/holding.go", "s.Record.Nonce == h.pending.Nonce:", "s.Record.State == Held && s.Record.Task == h.pending.Task:", recordTests},
	{"H4", "an attachment that finds a body it has not written continues", "internal/record/holding.go", "h.pending != nil && s.Record.Nonce == h.pending.Nonce:", "h.pending != nil && s.Record.HeldBy(h.id):", recordTests},
	{"H4", "a refused copy counts although an earlier one may have landed", "internal/record/holding.go", "	default: // also if", "	case a == Refused:\n		h.lose(ErrRetired)\n	default: // also if", recordTests},
	{"H5", "a return frees ticks below its own grant", "internal/record/take.go", "max(r.From, used+1)", "used + 1", recordTests},
	{"H5", "a return frees used ticks", "internal/record/take.go", "max(r.From, used+1)", "max(r.From, used)", recordTests},
	{"H5", "an answer after a stop changes the grant", "internal/record/holding.go", "	if h.phase == Returning {\n		h.giveBack(fresh)", "	if h.phase == Returning {\n		h.grant = r.Grant()\n		h.giveBack(fresh)", recordTests},
	{"H5", "a record of another attachment is returned", "internal/record/take.go", "	if !r.HeldBy(rel.ID) {", "	if r.State != Held {", recordTests},
	{"H6", "retiring forgets the bound", "internal/record/operate.go", "	r = r.unheld(Retired, nonce)\n	r.Life = life\n	return r, true, nil", "	r = r.unheld(Retired, nonce)\n	r.Life, r.Bound = life, 0\n	return r, true, nil", recordTests},
	{"H6", "a retired record is taken", "internal/record/take.go", "	case r.State == Retired:", "	case r.Version < 0 && r.State == Retired:", recordTests},
	{"H6", "restoring forgets the bound", "internal/record/operate.go", "	return r.unheld(Free, nonce), true, nil", "	r.Bound = 0\n	return r.unheld(Free, nonce), true, nil", recordTests},
	{"H7", "a life ends before its records are closed", "internal/record/document.go", "if r.State != Closed || r.Life != d.Life {", "if false {", recordTests},
	{"H7", "records of an earlier destroy count as closed", "internal/record/document.go", "if r.State != Closed || r.Life != d.Life {", "if r.State != Closed {", recordTests},
	{"H7", "the mark is that of one record", "internal/record/document.go", "d.Mark = max(d.Mark, r.Bound)", "d.Mark = r.Bound", recordTests},
	{"H7", "closing forgets the bound", "internal/record/operate.go", "	r = r.unheld(Closed, nonce)\n", "	r = r.unheld(Closed, nonce)\n	r.Bound = 0\n", recordTests},
	{"H7", "a life is created while another ends", "internal/record/document.go", "if d.Phase != Destroyed {", "if d.Phase == Alive {", recordTests},
	{"H8", "a later life ignores the mark", "internal/record/take.go", "max(b.Now, r.Bound, b.Mark, b.Epoch)", "max(b.Now, r.Bound, b.Epoch)", recordTests},
	{"H8", "a closed record is taken in its own life", "internal/record/take.go", "return r.State == Closed && r.Life == life || earlier(life, r.Life)", "return earlier(life, r.Life)", recordTests},
	{"H8", "a record of an emptied store's life is taken", "internal/record/take.go", "	case r.Life != life:\n", "	case earlier(r.Life, life):\n", recordTests},
	{"H10", "a sealed marker grows", "internal/record/marker.go", "if !earlier(m.Sealed, life) {", "if false {", recordTests},
	{"H10", "a record beyond the slots is enlisted for an ended life", "internal/record/operate.go", "	if r.endOf(life) {\n", "	if false {\n", recordTests},
	{"Q2", "no quarantine", "internal/record/take.go", "from = max(from, b.Now.Add(b.Quarantine))", "_ = b.Quarantine", recordTests},
	{"Q2", "an empty body shows everything", "internal/record/take.go", "r.Generation != b.Generation || r.empty()", "r.Generation != b.Generation", recordTests},
	{"Q4", "extended at another server", "internal/record/take.go", "	if r.Generation != b.Generation {\n		return Record{}", "	if r.Version < 0 {\n		return Record{}", recordTests},
	{"Q6", "a grant in quarantine has a whole window", "internal/record/take.go", "until := max(from, b.Now.Add(b.Window))", "until := from.Add(b.Window)", recordTests},
	{"Z10", "an expired record is extended", "internal/record/take.go", "if b.Now > r.Timestamp {", "if b.Now > r.Bound.Add(1e6) {", recordTests},
	{"Z6", "a record that is held and valid is a candidate", "internal/record/order.go", "case !c.Record.Acquirable(b.Now):", "case c.Record.State == Retired:", recordTests},
	{"Z20", "metadata that disagrees is ignored", "internal/record/body.go", "there && have != want[key]", "there && have == \"\"", recordTests},
}

// storeClientMutants weaken the rules that a store's client enforces.
var storeClientMutants = []mutant{
	{"H4", "a swap without an answer counts as landed", "client/store/seat.go", "	answer := record.Unknown\n", "	answer := record.Landed\n", storeClientTests},
	{"H5", "a node is returned while it is used", "client/store/seat.go", "	s.machine.Stop(rel, newNonce())\n", "	rel.LastUsed = 0\n	s.machine.Stop(rel, newNonce())\n", storeClientTests},
	{"H6", "a missing record is read as a new one", "client/store/look.go", "	case errors.Is(err, ErrNoRecord):\n		f.err =", "	case errors.Is(err, ErrNoRecord):\n		f.err, f.Record = nil, record.Record{State: record.Free, Graceful: true}\n	case err == errAgain:\n		f.err =", storeClientTests},
	{"H6", "a name whose document is missing begins again beside its records", "client/store/create.go", "		if part != record.PartRecord {", "		if part != record.PartOther {", storeClientTests},
	{"H6", "a held record is repaired", "client/store/operate.go", "	case r.State == record.Held:\n", "	case r.State == record.Held && r.Version == 0:\n", storeClientTests},
	{"H11", "a missing marker is made again", "client/store/initialise.go", "	if !lacking {\n		return nil\n", "	if !lacking {\n		return rs.makeRecords(ctx, d)\n", initialiseTests},
	{"H11", "the initialisation is not recorded", "client/store/initialise.go", "	_, err := rs.swap(ctx, rs.documentEntry(next, revision))\n	return orAgain(err)\n", "	_ = next\n	return nil\n", initialiseTests},
	{"H11", "the initialisation is recorded before it is done", "client/store/initialise.go", "	if err := rs.makeRecords(ctx, d); err != nil {\n		return err\n	}\n	_, err := rs.swap(ctx, rs.documentEntry(next, revision))\n	return orAgain(err)\n", "	if _, err := rs.swap(ctx, rs.documentEntry(next, revision)); err != nil {\n		return err\n	}\n	return orAgain(rs.makeRecords(ctx, d))\n", initialiseTests},
	{"H7", "a create does not complete a destroy", "client/store/create.go", "	case d.Phase == record.Destroying:\n		err := c.destroyLife(ctx, d.Ref())\n", "	case d.Phase == record.Destroying:\n		var err error\n		d.Phase = record.Destroyed\n		if d, err = d.Recreate(def, randomBytes(), newNonce()); err == nil {\n			_, revision, _ := c.document(ctx, def.Name())\n			err = c.begin(ctx, d, revision)\n		}\n", storeClientTests},
	{"H8", "a handle ignores the mark", "client/store/create.go", "mark: d.Mark}", "mark: 0 * d.Mark}", storeClientTests},
	{"H10", "a destroy does not seal the marker", "client/store/destroy.go", "	if err != nil || !changed {\n		return m.Made, err", "	if err != nil || changed {\n		return m.Made, err", storeClientTests},
	{"Q3", "the generation is compared before the swap only", "client/store/seat.go", "c.swapIn(ctx, e, want.Generation) // Q3", "c.swap(ctx, e)", storeClientTests},
	{"Z10", "a record that has expired is not given up", "client/store/seat.go", "			s.machine.Expire(c.clock.Now())\n", "			_ = err\n", storeClientTests},
	{"ZH9", "a store that ignores conditions is used", "client/store/probe.go", "	case err == nil:\n		return failure", "	case err == nil && e.Key == \"\":\n		return failure", storeClientTests},
	{"E12", "a clock that was set back is not reported", "client/store/wallclock.go", "	if back > c.cfg.MaxClockBack {", "	if back > 1000*c.cfg.MaxClockBack {", storeClientTests},
	{"EH7", "a clock off the store's is followed", "client/store/wallclock.go", "off > most {", "off > 1000*most {", storeClientTests},
}
