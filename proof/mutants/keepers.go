package main

// keeperTests guard the definitions in voters' memory.
var keeperTests = []string{"./partition", "./backup", "./internal/roster/...", "./internal/leader"}

// keeperMutants weaken the rules by which a majority of the voters keeps definitions in memory, in
// a grid without data directories, so that they survive when all replicas are lost.
var keeperMutants = []mutant{
	{"D2", "an answer does not wait for voters", "partition/pending.go",
		"(!h.persistent || r.table.Complete() && r.replica.Persistent(h.number))", "true",
		nameTests("an answer does not wait for voters")},
	{"D5", "the next owner asks no voter", "backup/term.go",
		"r.machine.BecomeOwner(r.floor(lost), lost, len(r.entry.Disk) == 0)",
		"r.machine.BecomeOwner(r.floor(lost), lost, true)", nameTests("the next owner asks no voter")},
	{"D2", "definitions that a voter may not have got count", "partition/keep.go",
		"	maps.Copy(other.changed, other.sending) // it may lack them still\n", "",
		nameTests("definitions that a voter may not have got count")},
	{"D2", "voters are not asked for a later owner", "partition/pending.go", "	if keepers {\n",
		"	if keepers && r == nil {\n", nameTests("voters are not asked for a later owner")},
	{"D1", "voters store definitions of an earlier owner", "backup/update.go", "	err = r.receivable(p, r.stored)\n",
		"	_ = r.receivable\n", keeperTests},
	{"D1", "definitions follow others than those that a voter has", "backup/update.go",
		"	case u.Whole == nil && (r.stored.Term != p.Term || r.stored.Number < u.Since):\n",
		"	case u.Whole == nil && r.stored.Term != p.Term:\n", keeperTests},
	{"D1", "a table that loses its names empties what a voter keeps", "partition/keep.go",
		"	if !k.table.Complete() || !k.replica.IsKeeper() && !k.replica.Acts() {",
		"	if !k.replica.IsKeeper() && !k.replica.Acts() {", keeperTests},
	{"D1", "a table is stored as a difference to other definitions", "partition/delivery.go",
		"			m.table.ForgetStored() // it no longer follows them\n", "", keeperTests},
	{"D3", "a voter forgets definitions while it is named for them", "partition/keep.go",
		"p.Term < k.replica.Newest() && !named && ", "p.Term < k.replica.Newest() && (!named || p.Term > 0) && ",
		keeperTests},
	{"D3", "a voter forgets definitions within the term", "partition/keep.go",
		"p.Term > 0 && p.Term < k.replica.Newest() && !named", "p.Term > 0 && !named", keeperTests},
	{"D4", "fewer voters than a majority keep definitions", "internal/roster/storage.go", "majority := len(voters)/2 + 1",
		"majority := len(voters) / 2", keeperTests},
	{"D4", "a loss forgets that voters are named", "internal/roster/reassign.go",
		"	r.Partitions[l.Partition].Memory = was.Memory\n", "", keeperTests},
	{"D4", "memory takes the place of disks", "internal/roster/storage.go",
		"len(r.Keepers) > 0 && (p.Memory || len(p.Disk) == 0):", "len(r.Keepers) > 0:", keeperTests},
	{"D2", "a named voter that is next no longer is not waited for", "internal/roster/storage.go",
		"if p.Memory && slices.Contains(p.Disk,", "if !p.Memory && slices.Contains(p.Disk,", keeperTests},
	{"O6", "a holder without a grant brings a destroyed name back after a reset", "partition/judge.go",
		"c.Until > 0 && c.Until < v.Roster.Began", "c.Until < v.Roster.Began", keeperTests},
	{"O6", "a holder of an earlier claim brings a destroyed name back", "partition/judge.go",
		"!v.Roster.Restarted || c.Until", "v.Roster.Assigned() || c.Until", keeperTests},
	{"O8", "an owner without a ceiling creates names", "partition/life.go", "	if v.Time > v.Roster.Ceiling {\n",
		"	if v.Time > v.Roster.Ceiling && v.Mono < 0 {\n", keeperTests},
}
