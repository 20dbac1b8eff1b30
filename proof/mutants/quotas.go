package main

var (
	quotaRosterTests    = []string{"./internal/roster", "-run", "Quota"}
	quotaLeaderTests    = []string{"./internal/leader", "-run", "Quota"}
	quotaPartitionTests = []string{"./partition", "-run", "Limit|Census|Unused|CreateUnless|Table|Change"}
	quotaHostTests      = []string{"./grid/internal/host", "-run", "Rates|Site|Pace"}
	quotaAPITests       = []string{"./grid/internal/api", "-run", "Charged"}
	quotaGridTests      = []string{"./grid/gridtest", "-run", "Quota|Unused|PagesOfMany"}
	quotaSessionTests   = []string{"./internal/session", "-run", "Call"}
)

// quotaMutants weaken the limits on holders, and the removal of unused names.
var quotaMutants = []mutant{
	{"quota", "the least specific row counts", "internal/roster/quota.go",
		"q.Pattern.Literal() > rows[best].Pattern.Literal()", "q.Pattern.Literal() < rows[best].Pattern.Literal()",
		quotaRosterTests},
	{"quota", "any number of rows is agreed on", "internal/roster/quota.go", "	if len(rows) > MaxQuotas {",
		"	if len(rows) > 99*MaxQuotas {", quotaRosterTests},
	{"quota", "patterns of any length together are agreed on", "internal/roster/quota.go", "	if bytes > maxQuotaBytes {",
		"	if bytes < 0 {", quotaRosterTests},
	{"quota", "a negative limit is agreed on", "internal/roster/quota.go", "limit.value < 0 || limit.value > MaxQuota",
		"limit.value > MaxQuota", quotaRosterTests},
	{"quota", "a row is set twice by one change", "internal/roster/quota.go", "		if edited[q.Pattern] {",
		"		if edited[q.Pattern] && q.Pattern == \"\" {", quotaRosterTests},
	{"quota", "an edit forgets the other limits", "internal/leader/quotas.go", "		row := edit.Of(before)",
		"		row := edit.Of(roster.Quota{})", quotaLeaderTests},
	{"quota", "a holder gets one logical node too many", "partition/quota.go", "ofHolder >= l.Holder:",
		"ofHolder > l.Holder:", quotaPartitionTests},
	{"quota", "a credential gets one logical node too many", "partition/quota.go", "ofPeer >= l.Peer:", "ofPeer > l.Peer:",
		quotaPartitionTests},
	{"quota", "a repeated attach counts twice", "partition/quota.go", " || m.table.hasNode(name, c.ID) ||", " ||",
		quotaPartitionTests},
	{"S2", "a limit gives a shown node away", "partition/quota.go", " || c.Shown != 0 {", " {", quotaPartitionTests},
	{"quota", "a renewal takes logical nodes beyond the quota", "partition/renew.go",
		"	if err := m.quotaOnRenewal(h, c); err != nil {", "	if err := m.quotaOnRenewal(h, c); err != nil && b.Now < 0 {",
		quotaPartitionTests},
	{"quota", "a rotated certificate keeps its count", "partition/renew.go", "	m.sessions.seenFrom(h, set.Peer)\n", "",
		quotaPartitionTests},
	{"quota", "a full owner makes new sequencers", "partition/life.go", "err != nil && c.full != nil {",
		"err != nil && c.full != nil && v.Mono < 0 {", quotaPartitionTests},
	{"quota", "a change of the owner is not counted", "partition/change.go", "		t.census.became(name, lived, r)\n",
		"		_ = lived\n", quotaPartitionTests},
	{"quota", "a loss is not counted", "partition/table.go", "		t.records, t.census = map[string]*record{}, census{}\n",
		"		t.records = map[string]*record{}\n", quotaPartitionTests},
	{"quota", "the limit of names is passed", "grid/internal/host/names.go", "	if counted && n < q.Names {",
		"	if counted && n <= q.Names {", quotaGridTests},
	{"quota", "the names of other owners do not count", "grid/internal/host/names.go", "	n := others + own - 1\n",
		"	n := own - 1 + 0*others\n", quotaGridTests},
	{"quota", "an owner that has not answered has no names", "grid/internal/host/names.go",
		"		if !said {\n			return 0, false", "		if !said && len(c) == 0 {\n			return 0, false", quotaGridTests},
	{"quota", "any number of calls is served", "grid/internal/host/rate.go", "b.AllowN(at, 1)",
		"b.AllowN(at, 0)", quotaHostTests},
	{"quota", "callers beyond the bound have no limit", "grid/internal/host/rate.go",
		"		key.peer = \"\"\n		b = r.buckets[key]\n", "		return 0\n", quotaHostTests},
	{"quota", "each address of a network is another caller", "grid/internal/host/rate.go", "ip.Prefix(64)",
		"ip.Prefix(128)", quotaHostTests},
	{"quota", "a credential creates as many new sequencers as it can", "grid/internal/host/creates.go",
		"own.paid.Sub(now) >= p.atOnce()", "own.paid.Sub(now) < 0", quotaHostTests},
	{"quota", "an import by an admin is paced as a holder is", "grid/internal/host/creates.go",
		" && r != security.Admin }", " }", quotaHostTests},
	{"quota", "creates wait for their turn without end", "grid/internal/host/creates.go",
		"left > newWait || own.waits >= newWaits ||", "", quotaHostTests},
	{"quota", "a create that waits has its turn immediately", "grid/internal/host/creates.go", "signal.Sleep(ctx, left)",
		"signal.Sleep(ctx, 0*left)", quotaHostTests},
	{"quota", "paces of credentials are kept without end", "grid/internal/host/creates.go",
		"c.waits == 0 && c.paid.Before(now)", "c.waits < 0", quotaHostTests},
	{"quota", "calls are not counted", "grid/internal/api/peer.go", "		if err := a.cfg.Charge(ctx, u.action, u.name); err != nil {", "		if err := a.cfg.Charge(ctx, u.action, u.name); err != nil && u.name == \"\" {", quotaAPITests},
	{"quota", "a client gives up a call that it may repeat", "internal/session/call.go",
		"	if after := laterBy(err); after > 0 {", "	if after := laterBy(err); after > time.Hour {", quotaSessionTests},

	{"unused", "a sequencer that is attached is removed", "partition/quota.go",
		"m.ending[name] != nil || m.table.Attached(name) > 0 {", "m.ending[name] != nil {", quotaPartitionTests},
	{"unused", "a sequencer that was used just now is removed", "partition/quota.go", "	case time < unused:",
		"	case time < 0:", quotaPartitionTests},
	{"unused", "an open does not count as use", "partition/life.go", "	m.table.use(o.name, v.Mono)\n", "",
		quotaPartitionTests},
	{"unused", "a new owner takes a sequencer of which it knows nothing for old", "partition/quota.go",
		"	if len(r.slots) == 0 {\n", "	if len(r.slots) < 0 {\n", quotaPartitionTests},
	{"unused", "a page ends beyond the last name of an owner that has more", "grid/unused.go",
		"	if next != \"\" {\n		rows = slices.DeleteFunc", "	if next == \"-\" {\n		rows = slices.DeleteFunc",
		[]string{"./grid", "-run", "MergePages"}},
}
