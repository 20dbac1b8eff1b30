package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/recovery"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A grid may permanently lose a majority of its voters. An operator then begins another grid: from
// the remaining data directories, as `snowgrid recover` does, or otherwise from the remaining
// members, as `snowgrid init` does. Package recovery decides, as it does for package grid. Holders
// keep their grants, and a member that the operator did not reach keeps its ceiling.

// skewMost bounds the offset between two machines' clocks in runs with recoveries.
const skewMost clustertime.Span = 5 * 60_000

// gridLife is one grid in a series.
type gridLife struct {
	grid   roster.GridID
	memory bool // it began without definitions
}

// newLife draws a name's life for a member, and records the member's grid.
func (g *grid) newLife(m *member) attachment.Life {
	life := attachment.Life(g.w.bits())
	g.madeIn[life] = slices.IndexFunc(g.lives, func(l gridLife) bool { return l.grid == m.of() })
	return life
}

// compareBirths compares two lives of a name: first by grid, because versions restart in a grid
// formed from memory.
func (g *grid) compareBirths(a, b attachment.Ref) int {
	return cmp.Or(cmp.Compare(g.madeIn[a.Life], g.madeIn[b.Life]), a.Born.Compare(b.Born))
}

// forgetful returns the index of the last grid that began without definitions.
func (g *grid) forgetful() (last int) {
	for i, l := range g.lives {
		if l.memory {
			last = i
		}
	}
	return last
}

// of returns the grid that a member belongs to, or joins; zero for none.
func (m *member) of() roster.GridID {
	switch {
	case m.roster.Formed():
		return m.roster.Grid
	case !m.left.Grid.IsZero():
		return m.next
	}
	return m.g.id()
}

// wipe deletes a seat's data directory, and the writes to it that have not ended.
func (s *seat) wipe() {
	s.durable, s.index, s.disk, s.at, s.older, s.writes = false, -1, nil, nil, nil, nil
}

// operator begins another grid after a loss of the majority of voters.
type operator struct {
	g          *grid
	recovering bool // another grid is about to begin
}

// loseMajority permanently ends so many voters that the rest cannot agree. An operator acts after a
// while. At times the others first miss the log, while the clocks of the ending voters jump ahead:
// no survivor has a record of the resulting grants.
func (op *operator) loseMajority() bool {
	if op.recovering || op.g.stopping || len(op.g.lives) > op.g.cfg.Recoveries || !op.g.agreed.newest().Assigned() {
		return false
	}
	gone := op.majority(nil)
	if !op.isLostWithout(gone) {
		return false
	}
	op.recovering = true
	if !op.g.w.chance(0.5) {
		op.endMajority(gone)
		return true
	}
	after := op.g.w.between(4*time.Second, 20*time.Second)
	for _, m := range op.g.running() {
		if !slices.Contains(gone, m.seat) {
			m.deaf = max(m.deaf, op.g.w.now+after+time.Second)
			continue
		}
		step := skewMost - op.g.skew[m.place]
		m.wall, op.g.skew[m.place] = m.wall.Add(step), skewMost
	}
	op.g.w.after(after, func() {
		gone := op.majority(gone)
		if op.recovering = op.isLostWithout(gone); op.recovering {
			op.endMajority(gone)
		}
	})
	return true
}

// majority returns the given seats, and further voters until the rest have no majority.
func (op *operator) majority(gone []*seat) []*seat {
	for _, i := range op.g.w.rng.Perm(len(op.g.agreed.servers)) {
		if s := op.g.agreed.servers[i]; s.Voter && !slices.Contains(gone, s.seat) && op.g.agreed.expendable(gone...) {
			gone = append(gone, s.seat)
		}
	}
	return gone
}

// isLostWithout reports whether the grid has lost its majority without the members on some seats,
// and an operator has members or directories from which another grid can begin.
func (op *operator) isLostWithout(gone []*seat) bool {
	stays := slices.ContainsFunc(op.g.seats, func(s *seat) bool {
		return !slices.Contains(gone, s) && !op.g.stale(s) &&
			(s.hasLog(op.g.agreed.first) || !s.durable && s.running != nil && s.running.survives() && !s.running.leaving)
	})
	return stays && !op.g.agreed.expendable(gone...)
}

// endMajority permanently ends the members on some seats, and calls the operator.
func (op *operator) endMajority(gone []*seat) {
	for _, s := range gone {
		op.lose(s)
	}
	op.g.w.after(op.g.nemesis.span(), op.operate)
}

// lose permanently ends a member and its data. A new member replaces it later.
func (op *operator) lose(s *seat) {
	durable := s.durable
	if s.running != nil {
		op.g.crash(s.running)
	}
	s.wipe()
	op.g.w.after(op.g.nemesis.span(), func() {
		if len(op.g.running()) < memberLimit {
			op.g.start(op.g.addSeat(durable))
		}
	})
}

// completeRecovery waits for a pending recovery.
func (op *operator) completeRecovery() {
	for until := op.g.w.now + 5*time.Minute; op.recovering && op.g.w.now < until && op.g.failed == nil; {
		op.g.w.run(op.g.w.now + time.Second)
	}
	if op.recovering {
		op.g.fail("no member or directory begins another grid")
	}
}

// operate begins another grid, from directories if any remain.
func (op *operator) operate() {
	var dirs []*seat
	for _, s := range op.g.seats {
		if s.durable && !op.g.stale(s) {
			dirs = append(dirs, s)
		}
	}
	usable := slices.ContainsFunc(dirs, func(s *seat) bool { return s.hasLog(op.g.agreed.first) })
	if !op.recovering {
		return
	}
	if usable {
		op.recoverDisks(dirs)
	} else {
		op.initialize()
	}
}

// recoverDisks makes a grid from directories. All members have been stopped by the operator.
func (op *operator) recoverDisks(dirs []*seat) {
	before := op.g.agreed.newest()
	for _, m := range op.g.running() {
		op.g.crash(m)
		if !m.seat.durable {
			op.g.restart(m.seat)
		}
	}
	for _, s := range op.g.seats {
		if s.durable && !slices.Contains(dirs, s) { // a copy
			s.wipe()
		}
	}
	in := recovery.Disks{Old: before.Grid, Grid: roster.GridID(op.g.w.bits()), Now: op.g.wallAt(dirs[0].place),
		Incarnation: op.unknownIncarnation}
	for _, s := range dirs {
		in.Directories = append(in.Directories, op.directory(s))
	}
	newest := in.Directories[recovery.Newest(in.Directories)]
	alive, voters := newest.Votes(func(id roster.MemberID) bool {
		return slices.ContainsFunc(dirs, func(s *seat) bool { return s.id == id && s.hasLog(op.g.agreed.first) })
	})
	if 2*alive > voters {
		op.g.fail("a recovery is not needed: %d of %d voters have a directory", alive, voters)
		return
	}
	in.Lost = lostOf(newest.Roster, dirs)
	decided, err := recovery.FromDisks(in)
	if err != nil {
		op.g.fail("a grid is not recovered: %w", err)
		return
	}
	op.g.counts.Recovered++
	op.begin(decided.Commands, false)
	next := op.g.agreed.newest()
	op.g.agreed.servers = nil
	for i, s := range dirs {
		op.g.agreed.servers = append(op.g.agreed.servers, server{decided.Servers[i], s})
		s.index, s.old, s.older = len(op.g.agreed.log)-1, false, nil
		op.g.restart(s)
	}
	op.g.expect = len(dirs)
	for id, p := range before.Partitions {
		op.g.lost[roster.PartitionID(id)] = next.Version
		if p.Memory || !slices.ContainsFunc(dirs, func(s *seat) bool { return slices.Contains(p.Disk, s.id) }) {
			op.g.promises.void(roster.PartitionID(id))
		} else if len(next.Partitions[id].Disk) == 0 {
			op.g.fail("S1: the definitions of partition %d are on the disks of %v, and the recovered grid names none", id,
				p.Disk)
		}
	}
	op.g.check(op.g.promises.checkOnDisks())
	op.finish(1)
}

// directory describes a seat's data directory.
func (op *operator) directory(s *seat) recovery.Directory {
	d := recovery.Directory{Member: s.id, Roster: &roster.Roster{}, Definitions: map[roster.PartitionID]backup.Position{}}
	if s.hasLog(op.g.agreed.first) {
		d.Roster, d.Term, d.Index = op.g.agreed.log[s.index].roster, 1, uint64(s.index+1)
	}
	for _, other := range op.g.agreed.servers {
		d.Servers = append(d.Servers, other.Server)
	}
	for id, at := range s.at {
		d.Definitions[id] = at
	}
	return d
}

// lostOf returns the members with a disk in a roster that have no directory.
func lostOf(r *roster.Roster, dirs []*seat) (out []roster.MemberID) {
	for _, m := range r.Members {
		id := m.Incarnation.Member()
		if m.Durable && !slices.ContainsFunc(dirs, func(s *seat) bool { return s.id == id }) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unknownIncarnation returns a new incarnation for a member that is not in the newest directory's
// roster.
func (op *operator) unknownIncarnation(id roster.MemberID) roster.Incarnation {
	for _, s := range op.g.seats {
		if s.id == id && !op.g.stale(s) {
			m := op.g.start(s)
			op.g.crash(m)
			return m.inc
		}
	}
	panic("sim: no seat of member " + id)
}

// begin replaces the roster with another grid's.
func (op *operator) begin(commands []roster.Command, memory bool) {
	a, before, next := op.g.agreed, op.g.agreed.newest(), &roster.Roster{}
	a.first, a.leader, a.lost = len(a.log), nil, 0
	for _, c := range commands {
		was := next
		var err error
		if next, err = next.Apply(c); err != nil {
			op.g.fail("a grid does not begin: %v", err)
			return
		}
		if was.Formed() {
			op.g.check(op.g.checkRoster(was, next, false))
		}
		a.log = append(a.log, logged{roster: next})
	}
	op.g.lives = append(op.g.lives, gridLife{next.Grid, memory})
	op.g.check(checkBeginning(before, next))
}

// finish records the beginning of a grid.
func (op *operator) finish(from int64) {
	op.recovering = false
	op.g.w.note(began, "", from, int64(op.g.agreed.newest().Ceiling))
}

// checkBeginning requires that a grid begins above every grant made by its predecessor, unless the
// anchor ensures this, and remains anchored.
func checkBeginning(before, next *roster.Roster) error {
	switch {
	case next.Anchored != before.Anchored:
		return fmt.Errorf("A2: the grid was anchored: %v, and is: %v", before.Anchored, next.Anchored)
	case next.Grid == before.Grid:
		return fmt.Errorf("S1: the grid keeps the ID %s", next.Grid)
	case !next.Anchored && next.Ceiling < before.Ceiling:
		return fmt.Errorf("S1, S2: the grid begins at %d, and the one before could grant up to %d", next.Ceiling,
			before.Ceiling)
	}
	return nil
}

// restartForeign restarts, as an operator would, members left behind in an earlier grid.
func (op *operator) restartForeign() {
	if op.recovering || len(op.g.lives) == 1 {
		return
	}
	for _, m := range op.g.running() {
		if m.of() != op.g.id() && (op.g.calm || op.g.w.chance(0.01)) {
			op.g.crash(m)
			m.seat.wipe()
			if op.g.calm {
				op.g.start(op.g.addSeat(false))
			} else {
				op.g.restart(m.seat)
			}
		}
	}
}
