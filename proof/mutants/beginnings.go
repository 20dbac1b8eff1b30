package main

// Tests that guard the formation and recovery of grids.
var (
	beginTests     = []string{"./grid/internal/tenure", "./grid", "-run", "EndWaits|LogGone|AttemptBegunAgain|TestAccept|Unconfirmed|MixedFirst|Snapshot|Recover|NothingOfATenure"}
	voidTests      = []string{"./grid/internal/raftlog", "-run", "VoidedClaims"}
	formationTests = []string{"./grid/internal/formation", "-run", "Survivor|LogWithout|AttemptThat|Volatile"}
	clockTests     = []string{"./grid/gridtest", "-run", "DifferentClocks|WrongClock|UnheardJump|InitAbove|FirstLifeIs"}
)

// beginningMutants weaken the rules for data directories, forming, the first timestamp, forming a
// grid again, and recovery.
var beginningMutants = []mutant{
	{"B2", "a log of another life is taken for the member's", "grid/internal/formation/datadir.go", "case id.needsLog() && id.Log != l.ID:", "case id.Forming && id.Log != l.ID:", beginTests},
	{"B2", "an identity that names a grid needs no log", "grid/internal/formation/datadir.go", "return !id.Grid.IsZero() && !id.Forming }", "return id.Member == \"\" }", beginTests},
	{"B2", "a process serves under a claim that it has given up", "grid/internal/raftlog/followed.go", "if !f.voided[r.Claim] {", "if len(f.voided) >= 0 {", voidTests},
	{"B2", "a process gives up the last of its claims alone", "grid/internal/raftlog/followed.go", "	maps.Copy(out, f.voided)\n", "", voidTests},
	{"B2", "a start that is refused makes a log", "grid/internal/formation/datadir.go", "err != nil || !id.needsLog() {", "err != nil || id != nil {", beginTests},
	{"B2", "an attempt counts as not complete after its first entry", "grid/internal/formation/form.go", "	if !b.id.Forming {\n		return nil\n	}\n", "	if true {\n		return nil\n	}\n", beginTests},
	{"B2", "a snapshot of all that was acknowledged may be missing", "grid/internal/raftlog/contents.go", "	if err := s.files.verify(record); err != nil {\n		return c, err\n	}\n", "", beginTests},
	{"B2", "a snapshot is not recorded", "grid/internal/raftlog/snapshots.go", "return s.all.log.Set(snapshotKey, snapshotRecord{s.index, sum, s.ID()}.encode())", "_ = sum\n	return nil", beginTests},
	{"S3", "a bootstrap member that died follows its own grid", "grid/internal/formation/datadir.go", "		id.Grid = roster.GridID{}\n	case", "		_ = roster.GridID{}\n	case", beginTests},
	{"S3", "an acceptance is not on disk before it is answered", "grid/internal/formation/acceptance.go", "	b.id.Accepted = to\n	if err := b.id.Save(); err != nil {", "	b.id.Accepted = to\n	if err := error(nil); err != nil {", beginTests},
	{"S3", "an acceptance lapses immediately", "grid/internal/formation/bootstrap.go", "return now-l.seen >= acceptanceLives", "return now >= l.seen", beginTests},
	{"S3", "an acceptance never lapses", "grid/internal/formation/bootstrap.go", "return now-l.seen >= acceptanceLives", "return now < l.seen", beginTests},
	{"S3", "the first entry is written without confirmation", "grid/internal/formation/bootstrap.go", "if len(again.others) < need {", "if len(again.others) < 0 {", beginTests},
	{"S3", "a bootstrap member with other settings ends the member", "grid/internal/formation/acceptance.go", "	if err := in.Settings.Differs(f.cfg.Stated); err != nil {\n", "	if err := in.Settings.Differs(f.cfg.Stated); err != nil {\n		f.state.Fail(err)\n", beginTests},
	{"S2", "only the bootstrap member's clock is read", "grid/internal/formation/bootstrap.go", "		out.readings = append(out.readings, clustertime.Reading{Member: named(p), At: answers[i].Wall})\n", "", clockTests},
	{"S2", "the first timestamp is by the median clock", "internal/clustertime/beginning.go", "first := b.Latest.Add(b.Window + ClockMargin)", "first := b.Median.Add(b.Window + ClockMargin)", rosterTests},
	{"S2", "a clock far ahead is waited for", "internal/clustertime/beginning.go", "ahead > JumpLimit {", "ahead > 1000*JumpLimit {", rosterTests},
	{"S2", "a floor in a configuration replaces the wait", "internal/clustertime/beginning.go", "case b.NoHolder && b.Floor > 0:", "case b.Floor > 0:", rosterTests},
	{"S2", "members without a disk count as durable", "grid/internal/formation/bootstrap.go", "		out.durable = out.durable && answers[i].Durable\n", "", beginTests},
	{"S2", "a first life begins below a clock of before", "internal/clustertime/beginning.go", "		first = b.Latest\n", "		first = b.Median\n", rosterTests},
	{"S2", "a jump that no survivor heard of is not allowed for", "internal/clustertime/beginning.go", "		jump = JumpLimit\n", "		jump = 0\n", rosterTests},
	{"S2", "the window of an earlier life is forgotten", "internal/clustertime/beginning.go", "		window = max(window, b.Window)\n	}\n	if floor", "		window = b.Window\n	}\n	if floor", rosterTests},
	{"S2", "formed again without the survivors' ceiling", "internal/recovery/memory.go", "clustertime.Bound{Ceiling: b.Ceiling, Time: b.Time,", "clustertime.Bound{Time: b.Time,", clockTests},
	{"S2", "formed again without the survivors' cluster time", "internal/recovery/memory.go", "clustertime.Bound{Ceiling: b.Ceiling, Time: b.Time,", "clustertime.Bound{Ceiling: b.Ceiling,", clockTests},
	{"S2", "formed again without the survivors' clocks", "internal/recovery/memory.go", "Wall: b.Wall, Window: window}", "Window: window}", clockTests},
	{"S2", "the ceiling of a grid that was left is not kept", "internal/recovery/memory.go", "Ceiling: max(r.Ceiling, l.Bounds.Ceiling),", "Ceiling: l.Bounds.Ceiling,", clockTests},
	{"S2", "a grid is left while it is still acted for", "grid/internal/tenure/tenure.go", "	for t.running > 0 {", "	for t.running < 0 {", beginTests},
	{"lone", "two lone members take the same logical node", "grid/internal/host/calls.go", "if h.cfg.Alone && claim.Any {", "if h.cfg.Alone && !claim.Any {", []string{"./grid", "-run", "TestLoneMembersApart"}},
	{"S1", "a restored snapshot forgets the ceiling", "grid/internal/raftlog/fsm.go", "	f.followed.install(follow.Image{At: at, Roster: r})\n", "	r.Ceiling = 0\n	f.followed.install(follow.Image{At: at, Roster: r})\n", []string{"./grid", "-run", "FromASnapshot"}},
	{"S1", "a recovered grid keeps the ID of the old one", "grid/internal/formation/recover.go", "Grid: NewGridID(), Lost: lost", "Grid: newest.id.Grid, Lost: lost", beginTests},
	{"S1", "a recovery does not ask for the lost voters", "grid/internal/formation/recover.go", "	if len(unstated) > 0 {", "	if len(unstated) > 1000 {", beginTests},
	{"S1", "a recovery beside a majority is carried out", "grid/internal/formation/recover.go", "	if 2*alive > voters {", "	if alive > voters {", beginTests},
	{"S1", "a recovery does not count the wall clock", "internal/recovery/recovery.go", "[]clustertime.Bound{{Wall: in.Now}}", "[]clustertime.Bound{{}}", []string{"./grid", "-run", "TestRecoveryBeginsAbove"}},
	{"B2", "a recovery takes the log of another identity", "grid/internal/formation/recoverdir.go", "	if err := belongsTo(d.stores, d.id); err != nil {\n		return err\n	}\n", "", []string{"./grid", "-run", "TestRecoveryRefusesTheLog"}},
	{"S1", "a volatile voter counts as given", "internal/recovery/recovery.go", "given(roster.Incarnation(s.ID).Member()) && s.ID.IsDurable()", "given(roster.Incarnation(s.ID).Member())", formationTests},
	{"S2", "a survivor forgets the larger window of the grid before the last", "internal/recovery/memory.go", "max(r.Settings.Window, l.Bounds.Window)", "r.Settings.Window", formationTests},
	{"B2", "a log without an identity gets a new one", "grid/internal/formation/datadir.go", "case id.isNew && contents.Last > 0:", "case id.isNew && contents.Last > 1<<60:", formationTests},
	{"S3", "an attempt that succeeded is forgotten", "grid/internal/formation/datadir.go", "case id.Forming && !contents.Command:", "case id.Forming:", formationTests},
	{"security", "a data directory stays open to other users", "grid/internal/formation/datadir.go", "	if err := registrar.Restrict(dir, []string{IdentityFile,", "	if err := registrar.Restrict(filepath.Dir(dir), []string{IdentityFile,", []string{"./grid", "-run", "TestDataDirIsFor"}},
	{"security", "a snapshot stays open to other users", "grid/internal/raftlog/snapshots.go", "err := errors.Join(err, restrict(filepath.Join(s.all.dir, s.ID()))); err", "err := err; err", []string{"./grid", "-run", "TestDataDirIsFor"}},
	{"A2", "a recovered grid is no longer anchored", "internal/recovery/recovery.go", "		Anchored: old.Anchored, Sets:", "		Sets:", []string{"./grid", "-run", "TestRecoveredGridKeepsItsAnchor"}},
	{"S1", "a recovery does not record the lost definitions", "internal/recovery/recovery.go", "			record.Forgotten = append(record.Forgotten, id)\n", "			_ = id\n", []string{"./grid", "-run", "TestRecoveryIsReported"}},
	{"S1", "a recovery begins before its plan is kept", "grid/internal/formation/recoverdir.go", "{p.keep, p.replaceLog, p.adoptDefinitions,", "{p.replaceLog, p.keep, p.adoptDefinitions,", beginTests},
	{"S1", "a member starts in the middle of a recovery", "grid/internal/formation/datadir.go", "if err := checkNotRecovering(dir); err != nil ||", "if err := checkNotRecovering(dir); err == nil &&", beginTests},
	{"S1", "a recovered grid does not allow for the grants of the lost", "internal/clustertime/beginning.go", "return highest.Add(window + ClockMargin + JumpLimit)", "return highest", rosterTests},
}
