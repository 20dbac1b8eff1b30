package main

import (
	"regexp"
	"strings"
)

// exploreTests runs the explorer on a mutant's scope, in which it has to find a timestamp that two
// attachments may use.
func exploreTests(scope string) []string {
	return scopeTests("TestMutantScopes", scope)
}

// nameTests runs it for definitions: the explorer has to find a forbidden reply.
func nameTests(scope string) []string { return scopeTests("TestNameMutantScopes", scope) }

// anchoredTests runs it for anchored grids: the explorer has to find a tick that two generations
// may grant.
func anchoredTests(scope string) []string { return scopeTests("TestAnchorMutantScopes", scope) }

// recordScope runs it for records in a store, and failoverScope for their quarantine.
func recordScope(scope string) []string {
	return append(scopeTests("TestRecordMutantScopes", scope), "-states", "1000000")
}

func failoverScope(scope string) []string {
	return append(scopeTests("TestFailoverMutantScopes", scope), "-states", "1000000")
}

// generatorScope runs it for generators: the explorer has to find a forbidden ID.
func generatorScope(scope string) []string {
	return append(scopeTests("TestGeneratorMutantScopes", scope), "-states", "500000")
}

func scopeTests(test, scope string) []string {
	return []string{"-C", "proof", "./explore", "-run",
		"^" + test + "$/^" + regexp.QuoteMeta(strings.ReplaceAll(scope, " ", "_")) + "$"}
}

// isExplored reports whether a mutant is in exploreMutants, which run only against the explorer.
func (m mutant) isExplored() bool {
	return len(m.tests) > 2 && m.tests[1] == "proof" && m.tests[2] == "./explore"
}

// exploreMutants weaken the rules in machines that proof/explore runs in every order of events.
// Each has a scope with its name there (explore.Mutants, explore.NameMutants).
var exploreMutants = []mutant{
	{"O2", "floor not raised for assigned nodes", "partition/table.go", "s.Free = max(s.Free, floor)", "_ = floor",
		exploreTests("floor not raised for assigned nodes")},
	{"O4", "no acknowledgements", "partition/pending.go", "return r.replica.AllAcknowledged(h.number) &&", "return",
		exploreTests("no acknowledgements")},
	{"O4", "any one backup is enough", "backup/owner.go", "!said || p.number < number {\n			return " +
		"false\n		}\n	}\n	return true", "said && p.number >= number {\n			return true\n		}\n	}\n	return len(r.Needed()) == 0",
		exploreTests("any one backup is enough")},
	{"R4", "owner drops a silent backup by itself", "backup/owner.go", "!said || p.number < number",
		"said && p.number < number", exploreTests("owner drops a silent backup by itself")},
	{"O4", "repeated attach answered from the table before all hold it", "partition/pending.go",
		"number: min(on.number, m.replica.Position().Number), answer", "number: min(on.number, " +
			"m.replica.Position().Number*min(1, m.replica.Position().Number-before.Number)), answer", exploreTests(
			"repeated attach answered from the table before all hold it")},
	{"O4", "inherited records answered before the term's snapshot is held by all", "partition/pending.go",
		"return r.replica.AllAcknowledged(h.number) &&", "return (h.number == 0 || r.replica.AllAcknowledged(h.number)) &&",
		exploreTests("inherited records answered before the term's snapshot is held by all")},
	{"B1", "difference applied to an older term's table", "backup/update.go",
		"r.position.Term != p.Term || r.position.Number < u.Since", "r.position.Number < u.Since",
		exploreTests("difference applied to an older term's table")},
	{"B1", "older term accepted", "backup/update.go", "p.Term == 0 || p.Term < r.newest", "p.Term == 0",
		exploreTests("older term accepted")},
	{"B1", "older (e, k) installed again", "backup/update.go", "u.Position.Compare(r.position) <= 0",
		"u.Position.Compare(r.position) <= 0 && (u.Whole == nil || u.Position == r.position)", exploreTests(
			"older (e, k) installed again")},
	{"R5", "joiner not needed before the owner learns the new version", "backup/owner.go",
		"if p, said := r.peers[i]; !said || p.number < number {", "if p, said := r.peers[i]; i != r.entry.Joining && " +
			"(!said || p.number < number) {", exploreTests("joiner not needed before the owner learns the new version")},
	{"O2", "loss remembered by the named owner only", "backup/term.go", "lost := r.position.Term < r.entry.LostTerm",
		"lost := r.position.Term < r.entry.LostTerm && r.entry.Term == r.entry.LostTerm",
		exploreTests("loss remembered by the named owner only")},
	{"O2", "loss not remembered at all", "backup/term.go", "lost := r.position.Term < r.entry.LostTerm", "lost := false",
		exploreTests("loss not remembered at all")},
	{"O1", "continuity recognised by owner name", "backup/term.go", "	if p.Owner == r.self && p.Term >= r.newest",
		"	if p.Owner == r.self && r.ownTerm > 0 {\n		r.ownTerm = p.Term\n	} else if p.Owner == r.self && p.Term >= r.newest",
		exploreTests("continuity recognised by owner name")},
	{"O5", "free := until, which may go down", "partition/table.go",
		"	s.Free = max(s.Free, b.Ceiling)\n	return attachment.Attachment",
		"	s.Free = b.Ceiling\n	return attachment.Attachment", exploreTests("free := until, which may go down")},
	{"O5", "from ignores free", "partition/table.go", "s.From = max(s.Free, s.Shown, b.Now,",
		"s.From = max(s.Shown, b.Now,", exploreTests("from ignores free")},
	{"O7", "detach sets free below its own from", "partition/table.go", "min(s.Free, max(s.From, used+1))",
		"min(s.Free, used+1)", exploreTests("detach sets free below its own from")},
	{"O6", "adopted attachment not replicated", "partition/renew.go", "m.took(v, h, c, a, life, changed)",
		"m.took(v, h, c, a, life, changed && v.Mono < 0)", exploreTests("adopted attachment not replicated")},
	{"O6, H2", "adopted attachment fills the gap", "partition/table.go", "	a, changed, err = t.Attach(c, b)\n	return",
		"	a, changed, err = t.Attach(c, b)\n	if s := r.slot(c.Node); changed && s != nil {\n		s.From, a.Grant.From = " +
			"b.Now, b.Now\n	}\n	return", exploreTests("adopted attachment fills the gap")},
	{"O6", "adopted attachment ignores free", "partition/table.go", "	a, changed, err = t.Attach(c, b)\n	return",
		"	if s := r.slot(c.Node); s != nil && s.ID.IsZero() {\n		s.Free = 0\n	}\n	a, changed, err = t.Attach(c, b)\n	return",
		exploreTests("adopted attachment ignores free")},
	{"O7", "re-created sequencer starts at 0", "partition/table.go", "free = max(free, ended.Mark)", "_ = ended.Mark",
		exploreTests("re-created sequencer starts at 0")},
	{"O6", "a later life replaces an earlier one from 0", "partition/table.go", "return t.adopt(c.Ref, r), true, nil",
		"return t.adopt(c.Ref, nil), true, nil", exploreTests("a later life replaces an earlier one from 0")},
	{"O6", "renewal of a node answered with the grant of another", "partition/table.go", "s != nil && s.Node != c.Node {",
		"s != nil && s.Node != c.Node && b.Now < 0 {", exploreTests("renewal of a node answered with the grant of another")},
	{"O6, H2", "fingerprint without the start of the grant", "internal/attachment/holder.go",
		"	text = binary.BigEndian.AppendUint64(text, uint64(a.Grant.From))\n", "",
		exploreTests("fingerprint without the start of the grant")},
	{"O5", "what sets extend is not counted", "partition/table.go", "	s.Free = max(s.Free, until)\n", "",
		exploreTests("what sets extend is not counted")},
	{"O7", "mark without the nodes that were given back", "partition/table.go",
		"		r.Mark = max(r.Mark, r.Slots[i].Free)\n", "		if !r.Slots[i].ID.IsZero() {\n			r.Mark = max(r.Mark, " +
			"r.Slots[i].Free)\n		}\n", exploreTests("mark without the nodes that were given back")},
	{"O7", "a folded mark leaves base as it was", "partition/table.go", "t.base = max(t.base, r.Mark)", "_ = r.Mark",
		exploreTests("a folded mark leaves base as it was")},
	{"S1", "clean stop with an attachment left", "partition/partition.go", "	high, free := m.table.High()\n",
		"	high, free := m.table.base, true\n", exploreTests("clean stop with an attachment left")},
	{"O2", "a table from before a loss begins at the floor of an earlier one", "backup/term.go",
		"lost && r.loss.term == r.entry.LostTerm", "lost && r.loss.term > 0",
		exploreTests("a table from before a loss begins at the floor of an earlier one")},
	{"D2c", "memory is enough", "partition/pending.go",
		"(!h.persistent || r.table.Complete() && r.replica.Persistent(h.number))", "true", nameTests("memory is enough")},
	{"D2", "opens do not wait for disks", "partition/life.go", "	serveNames(m, v, open{name}, ",
		"	serve(m, v, func(b Bounds) (attachment.Ref, dependency, error) { ref, err := open{name}.serve(m, v, b); return " +
			"ref, onTable, err }, ", nameTests("opens do not wait for disks")},
	{"D2c", "any one disk is enough", "backup/disk.go", "	return !slices.ContainsFunc(r.storage.Needed, func(i " +
		"roster.Incarnation) bool { return r.lacks(i, number) })", "	return slices.ContainsFunc(r.storage.Needed, func(i " +
		"roster.Incarnation) bool { return !r.lacks(i, number) })", nameTests("any one disk is enough")},
	{"D2c", "the owner's disk does not count", "backup/disk.go",
		"func(i roster.Incarnation) bool { return r.lacks(i, number) })",
		"func(i roster.Incarnation) bool { return i != r.self && r.lacks(i, number) })",
		nameTests("the owner's disk does not count")},
	{"D2d", "named disks are not compared with the replicas", "backup/disk.go", "&& len(r.missing()) == 0 &&", "&&",
		nameTests("named disks are not compared with the replicas")},
	{"D2", "existing state told without asking", "partition/pending.go", "&& h.question <= r.answered(h.persistent) &&",
		"&&", nameTests("existing state told without asking")},
	{"D2b", "a memory-only replica is not waited for", "backup/owner.go",
		"if p, said := r.peers[i]; !said || p.number < number {",
		"if p, said := r.peers[i]; slices.Contains(r.storage.Durable, i) && (!said || p.number < number) {",
		nameTests("a memory-only replica is not waited for")},
	{"D1", "an incomplete table stored", "partition/disk.go", "!s.replica.IsDurable() || !s.table.Complete() {",
		"!s.replica.IsDurable() {", nameTests("an incomplete table stored")},
	{"D4", "disks named before all have written", "backup/disk.go", "if !r.Acts() || slices.ContainsFunc(next, func(i " +
		"roster.Incarnation) bool { return r.lacks(i, r.mark) }) {", "if !r.Acts() {", nameTests(
		"disks named before all have written")},
	{"D4", "disks named by any number of the term", "backup/disk.go", "r.lacks(i, r.mark)", "r.lacks(i, 0)",
		nameTests("disks named by any number of the term")},
	{"D5", "the next owner's table is complete", "backup/term.go",
		"r.machine.BecomeOwner(r.floor(lost), lost, len(r.entry.Disk) == 0)",
		"r.machine.BecomeOwner(r.floor(lost), lost, true)", nameTests("the next owner's table is complete")},
	{"D5, D7", "shown names are answered", "partition/collect.go", "	if _, err := m.act(v); err != nil || " +
		"m.table.Complete() {", "	if _, err := m.act(v); err != nil || m.table.Complete() || len(m.table.Lives(1)) > 0 {",
		nameTests("shown names are answered")},
	{"D6", "a disk shown before the loss is known", "backup/disk.go", "	case lost == 0 || r.newest < lost:\n",
		"	case lost == 0:\n", nameTests("a disk shown before the loss is known")},
	{"D6", "any member's disk is complete", "partition/collect.go",
		"if err == nil && slices.Contains(m.replica.Disks(0).Named, c.From) {", "if err == nil {",
		nameTests("any member's disk is complete")},
	{"D6", "the answer to an earlier collection", "partition/collect.go",
		"m.replica.Position().Term == c.Term && !m.table.Complete()", "!m.table.Complete()",
		nameTests("the answer to an earlier collection")},
	{"D7", "an unknown name created again later", "partition/life.go",
		"return !l.table.Complete() || len(v.Roster.Partitions[l.id].Disk) == 0", "return true",
		nameTests("an unknown name created again later")},
	{"D6", "a shown life kept over the collected table", "partition/complete.go",
		"			ended = append(ended, r.Ref)\n			t.end(r)\n", "", nameTests("a shown life kept over the collected table")},
}
