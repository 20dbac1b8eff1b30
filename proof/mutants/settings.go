package main

import "slices"

var (
	settingsRosterTests = []string{"./internal/roster", "-run", "BackupsChange"}
	settingsLeaderTests = []string{"./internal/leader", "-run", "SetSettings|SetWindow|SetBackups"}
	expectTests         = []string{"./internal/roster", "-run", "ExpectChanges|TestSettingsCheck"}
	expectRemovalTests  = []string{"./internal/leader", "-run", "TestRemoval"}
	missingTests        = []string{"./grid/gridtest", "-run", "FormedNumber"}
	alertTests          = []string{"./grid", "-run", "^TestAlerts$"}
	settingsFileTests   = []string{"./cmd/snowgrid", "-run", "Config|Secrets|Reload|EveryKey"}
)

// settingsMutants weaken the rules for settings that change while the grid runs, and for the
// configuration file.
var settingsMutants = slices.Concat(quotaMutants, []mutant{
	{"settings", "a negative number of backups is agreed on", "internal/roster/change.go",
		"(*c.Backups < 0 || *c.Backups > MaxBackups", "(*c.Backups > MaxBackups", settingsRosterTests},
	{"settings", "a change of backups changes nothing", "internal/roster/change.go",
		"		next.Settings.Backups = *c.Backups\n", "		_ = c.Backups\n", settingsRosterTests},
	{"settings", "holders are silent after the window that their owner began with", "partition/partition.go",
		"	m.sessions.window = v.window() //", "	//", []string{"./partition", "-run", "SessionsFollowTheWindow"}},
	{"alerts", "a long list leaves out the sequencers that need attention", "grid/overview.go",
		"	return append(first, then...)", "	return append(then, first...)",
		[]string{"./grid", "-run", "TestAlertsOfManySequencers"}},
	{"settings", "the ceiling follows a larger window by the earlier one's interval", "internal/leader/leader.go",
		"by the new window.\n		l.ceiling.next = v.Mono\n", "by the new window.\n",
		[]string{"./grid/gridtest", "-run", "TestLargerWindowRaisesTheCeiling"}},
	{"settings", "an operator's smaller window is proposed", "internal/leader/settings.go", "	case in.Window < now:",
		"	case in.Window < 0:", settingsLeaderTests},
	{"settings", "the next life of a memory-only grid need not know the window", "internal/leader/settings.go",
		"	case !r.KeepsLog && !r.Anchored && !in.WindowStated:",
		"	case !r.KeepsLog && !r.Anchored && !in.WindowStated && in.Window < 0:", settingsLeaderTests},
	{"settings", "a change of settings does not wait for the one that is proposed", "internal/leader/settings.go",
		"		if x.changes.pending || s.proposed != nil {", "		if s.proposed != nil {", settingsLeaderTests},
	{"settings", "a change of settings at an old version is given up", "internal/leader/settings.go",
		"errors.Is(err, roster.ErrStale) && s.tries < settingsTries", "errors.Is(err, roster.ErrStale) && s.tries < 0",
		settingsLeaderTests},
	{"settings", "the end of a lead answers no change of settings", "internal/leader/leader.go",
		"range l.settings.open {", "range l.settings.open[:0] {", settingsLeaderTests},
	{"settings", "any number of changes of settings waits", "internal/leader/settings.go",
		"len(x.open) >= settingsPending", "len(x.open) < 0", settingsLeaderTests},
	{"settings", "a restart forgets changes of settings", "grid/internal/raftlog/stores.go",
		"			r.Roster, _ = r.Roster.Apply(c)", "			if c.Form != nil {\n				r.Roster, _ = r.Roster.Apply(c)\n			}",
		[]string{"./grid/gridtest", "-run", "SettingsAfterRestart"}},

	{"expect", "a grid does not store how many members formed it", "grid/config.go",
		"Voters: roster.StoredVoters(c.Voters), Expect: c.Expect,",
		"Voters: roster.StoredVoters(c.Voters),", missingTests},
	{"expect", "a grid misses only the members that others state", "grid/alertchecks.go",
		"	expect := s.Settings.Expect //", "	expect := min(0, s.Settings.Expect) //", missingTests},
	{"expect", "members that a member states are not missed", "grid/alertchecks.go",
		"			expect = max(expect, m.Report.Expect)\n", "", alertTests},
	{"expect", "a change of the expected members changes nothing", "internal/roster/change.go",
		"		next.Settings.Expect = c.Expect\n", "", expectTests},
	{"expect", "a negative number of members is agreed on", "internal/roster/change.go",
		"c.Expect < 0 || c.Expect > MaxExpect ||", "c.Expect > MaxExpect ||", expectTests},
	{"expect", "a grid is formed with any number of members", "internal/roster/settings.go",
		"s.Expect < 0 || s.Expect > MaxExpect", "s.Expect < 0", expectTests},
	{"expect", "an operator's negative number is proposed", "internal/leader/settings.go",
		"in.Expect < 1 || in.Expect > roster.MaxExpect", "in.Expect > roster.MaxExpect", settingsLeaderTests},
	{"expect", "a removal leaves the number of expected members", "internal/leader/settings.go",
		"	return expect - 1\n", "	return 0\n", expectRemovalTests},
	{"expect", "a removal lowers the number although another member has come", "internal/leader/settings.go",
		"remaining >= expect || expect < 2", "remaining > expect || expect < 2", expectRemovalTests},
	{"expect", "a second removal counts the member that leaves by the first", "internal/leader/removal.go",
		"m.Incarnation.Member() != r.id && !x.admission.isLeaving(v, m.Incarnation)",
		"m.Incarnation.Member() != r.id", expectRemovalTests},
	{"expect", "a removal of a dead voter leaves the number", "internal/leader/removal.go",
		"		case !v.serves(r.server):\n			x.complete(v, r)\n",
		"		case !v.serves(r.server):\n			x.answer(r, nil)\n", expectRemovalTests},
	{"expect", "a removal whose lower number is lost is a success", "internal/leader/removal.go",
		"		r.reply(r.out, err)\n	})\n}\n", "		r.reply(r.out, nil)\n	})\n}\n", expectRemovalTests},

	{"file", "a file that any user may read or change sets a secret", "cmd/snowgrid/sourcefile.go",
		"	case k.secret && isOpen(file.Path) != nil:",
		"	case k.secret && isOpen(file.Path) != nil && false:", settingsFileTests},
	{"file", "a secret is printed", "cmd/snowgrid/config.go", "	case k.secret:\n",
		"	case k.secret && value == hiddenValue:\n", settingsFileTests},
	{"file", "the file has precedence over the environment", "cmd/snowgrid/sources.go",
		"		if err != nil || from.source != \"\" {",
		"		if _, both := s.file[flag.Name]; err != nil || from.source != \"\" && !both {", settingsFileTests},
	{"file", "a broken file changes a running agent", "cmd/snowgrid/reload.go",
		"	if _, err := parsed.Agent.check(from); err != nil {",
		"	if _, err := parsed.Agent.check(from); err != nil && len(args) == 0 {", settingsFileTests},
	{"file", "a key may be there twice", "cmd/snowgrid/internal/configfile/configfile.go",
		"if earlier, twice := f.Entry(e.Key); twice {",
		"if earlier, twice := f.Entry(e.Key); twice && e.Key == \"\" {", settingsFileTests},
	{"file", "commands that use a grid take the keys of the agent", "cmd/snowgrid/sources.go",
		"	return isAgent || k.client || k.flag.Tag.Has(\"shared\")\n",
		"	return isAgent || k.client || k.flag.Tag.Has(\"shared\") || known\n", settingsFileTests},
})
