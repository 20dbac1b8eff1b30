package explore

import (
	"slices"
	"strconv"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/roster/follow"
)

// A follower's inputs.
const (
	followCommits = iota
	followInstalls
	followReceives
	followBends
)

func (l *followLab) steps(w *followWorld, emit emitter[followWorld]) {
	l.logSteps(w, emit)
	for m := range maxMembers {
		if m < l.scope.Voters {
			l.voterSteps(w, m, emit)
		}
		for _, id := range w.sent {
			l.receiveStep(w, m, id, emit)
		}
		if l.restarts(w) < l.scope.Restarts {
			l.restartStep(w, m, emit)
		}
		if l.scope.Answers {
			l.ownerSteps(w, m, emit)
		}
	}
}

// logSteps commits any command that a leader may propose, from the newest roster or, to be refused,
// from an earlier one.
func (l *followLab) logSteps(w *followWorld, emit emitter[followWorld]) {
	if len(w.log) > l.scope.Entries {
		return
	}
	r := l.newest(w)
	commit := func(c roster.Command) {
		after, err := r.Apply(c)
		if err != nil {
			after = r
		}
		next := *w
		next.log = append(slices.Clone(w.log), followEntry{keep(&l.commands, c), keep(&l.rosters, after)})
		l.judge(&next, after)
		emit(&next, "the log: entry %d, v%d with G %d, owner %s", len(w.log)+int(followStart), after.Version,
			after.Ceiling-base, nameOf(after.Partitions[0].Owner))
		if l.weak == PushBeforeCommit && err == nil {
			// Proposed and pushed by a leader that is replaced: the entry is lost.
			early := *w
			l.send(&early, followSent{grid: r.Grid,
				entry: &follow.Entry{After: l.last(w), At: followStart + follow.Position(len(w.log)), Command: c}})
			emit(&early, "a leader pushes a proposal that is lost: v%d with G %d, owner %s", after.Version, after.Ceiling-base,
				nameOf(after.Partitions[0].Owner))
		}
	}
	if int(r.Ceiling-base)-1 < l.scope.Rises {
		commit(raise(r))
		if first := l.rosters.get(w.log[0].roster); l.scope.Stale && first.Version < r.Version {
			c := raise(r)
			c.From = first.Version
			commit(c)
		}
	}
	var current []roster.Incarnation
	for m := range maxMembers {
		current = append(current, l.self(w, m))
	}
	if l.weak == AdmissionOfOtherVersion {
		l.rules.weak = AdmissionRebased
	}
	for _, c := range l.rules.changes(r, current, w.held) {
		commit(roster.Command{From: r.Version, Change: &c})
	}
}

// last returns the position of the last command that changed the roster.
func (l *followLab) last(w *followWorld) follow.Position {
	i := len(w.log) - 1
	for i > 0 && w.log[i-1].roster == w.log[i].roster {
		i--
	}
	return followStart + follow.Position(i)
}

// judge requires that every in-sync replica has the acknowledged operation.
func (l *followLab) judge(w *followWorld, r *roster.Roster) {
	if len(w.holders) == 0 {
		return
	}
	for _, i := range r.Partitions[0].InSync {
		if !slices.Contains(w.holders, followProcess{uint8(memberOf(i)), w.started[memberOf(i)]}) {
			l.breaks(w, "%s is in sync and lacks an answered operation (R5)", nameOf(i))
		}
	}
}

// voterSteps emits the steps of a member's own Raft server.
func (l *followLab) voterSteps(w *followWorld, m int, emit emitter[followWorld]) {
	own := l.followers.get(w.members[m])
	if at := own.Log().At + 1; int(at-followStart) < len(w.log) {
		entry := w.log[at-followStart]
		out := l.run(followWork{w.members[m], followCommits, uint32(entry.command), at}, func(f *follow.Follower) error {
			if l.weak == ApplyOnServed {
				f.Install(follow.Image{At: f.Log().At, Roster: f.Served().Roster})
			}
			_, err := f.Commit(at, l.commands.get(entry.command))
			return err
		})
		next := *w
		l.become(&next, m, out.follower)
		emit(&next, "the log of %s applies entry %d", nameOf(l.self(w, m)), at)
	}
	for other := range l.scope.Voters {
		from := l.followers.get(w.members[other])
		image := from.Log()
		if l.weak == SnapshotOfServed {
			image.Roster = from.Served().Roster
		}
		if other == m || image.At <= own.Log().At {
			continue
		}
		next := *w
		out := l.run(followWork{w.members[m], followInstalls, uint32(keep(&l.rosters, image.Roster)), image.At},
			func(f *follow.Follower) error {
				f.Install(image)
				return nil
			})
		l.become(&next, m, out.follower)
		emit(&next, "%s installs a snapshot of %s", nameOf(l.self(w, m)), nameOf(l.self(w, other)))
	}
}

// receiveStep delivers a message.
func (l *followLab) receiveStep(w *followWorld, m int, id followSentID, emit emitter[followWorld]) {
	message := l.messages.get(id)
	own := l.followers.get(w.members[m]).Served().Roster.Grid
	out := l.run(followWork{w.members[m], followReceives, uint32(id), 0}, func(f *follow.Follower) error {
		return receive(f, message.grid, message)
	})
	if !out.refused && out.follower != w.members[m] {
		next := *w
		l.become(&next, m, out.follower)
		emit(&next, "%s gets %s", nameOf(l.self(w, m)), tellSent(message))
	}
	if l.weak != CeilingFromElsewhere && l.weak != OwnersFromElsewhere || m < l.scope.Voters || message.entry != nil ||
		message.grid != own {
		return
	}
	out = l.run(followWork{w.members[m], followBends, uint32(id), 0}, func(f *follow.Follower) error {
		served := f.Served()
		bent := *served.Roster
		if l.weak == CeilingFromElsewhere {
			bent.Ceiling = max(bent.Ceiling, message.image.Roster.Ceiling)
		} else if message.image.At > served.At {
			bent.Partitions = message.image.Roster.Partitions
		}
		*f = *follow.New(own)
		_, err := f.Adopt(own, follow.Image{At: served.At, Roster: &bent})
		return err
	})
	if out.follower != w.members[m] {
		next := *w
		l.become(&next, m, out.follower)
		emit(&next, "%s takes over a part of %s", nameOf(l.self(w, m)), tellSent(message))
	}
}

func receive(f *follow.Follower, grid roster.GridID, m followSent) error {
	var err error
	if m.entry != nil {
		_, err = f.Push(grid, *m.entry)
	} else {
		_, err = f.Adopt(grid, m.image)
	}
	return err
}

func tellSent(m followSent) string {
	if m.entry != nil {
		return "entry " + positionText(m.entry.At)
	}
	return "the whole roster at " + positionText(m.image.At)
}

func positionText(p follow.Position) string { return strconv.FormatUint(uint64(p), 10) }

// become replaces a process's state. The served roster never goes back.
func (l *followLab) become(w *followWorld, m int, to followerID) {
	before, after := l.followers.get(w.members[m]).Served(), l.followers.get(to).Served()
	w.members[m] = to
	if after.At < before.At || after.Roster.Version < before.Roster.Version ||
		after.Roster.Ceiling < before.Roster.Ceiling {
		l.breaks(w, "the served roster of %s goes back from %d to %d (R6)", nameOf(l.self(w, m)), before.At, after.At)
	}
	l.note(w, m)
}

// restartStep kills a process. The next one is another incarnation with an empty table; a voter has
// the log on its disk.
func (l *followLab) restartStep(w *followWorld, m int, emit emitter[followWorld]) {
	next := *w
	next.started[m]++
	log := l.followers.get(w.members[m]).Log()
	f := follow.New(l.newest(w).Grid)
	if m < l.scope.Voters {
		f.Install(log)
	}
	next.members[m] = keep(&l.followers, f)
	if m < l.scope.Voters {
		l.note(&next, m)
	}
	emit(&next, "%s is killed and starts again without memory, as %s", nameOf(l.self(w, m)),
		followProcess{uint8(m), next.started[m]})
}

func (l *followLab) restarts(w *followWorld) (n int) {
	for _, s := range w.started {
		n += int(s)
	}
	return n
}

// ownerSteps emits the steps of a process that is the owner in its served roster. It acknowledges
// an operation that all replicas in that roster have, and reports that its joiner has the table.
func (l *followLab) ownerSteps(w *followWorld, m int, emit emitter[followWorld]) {
	r := l.followers.get(w.members[m]).Served().Roster
	p := r.Partitions[0]
	if p.Owner != l.self(w, m) {
		return
	}
	if len(w.holders) == 0 {
		next := *w
		for _, i := range append(slices.Clone(p.InSync), p.Joining) {
			if i != "" {
				next.holders = append(next.holders, followProcess{uint8(memberOf(i)), w.started[memberOf(i)]})
			}
		}
		l.judge(&next, l.newest(&next))
		emit(&next, "%s at v%d answers an operation", nameOf(p.Owner), r.Version)
	}
	if p.Joining == "" {
		return
	}
	next := *w
	next.held = withHolding(w.held, holding{uint8(memberOf(p.Joining)), uint8(r.Version)})
	if joiner := (followProcess{uint8(memberOf(p.Joining)), w.started[memberOf(p.Joining)]}); len(w.holders) > 0 &&
		!slices.Contains(w.holders, joiner) {
		next.holders = append(slices.Clone(w.holders), joiner) // the table has it
	}
	emit(&next, "%s at v%d reports that %s holds the table", nameOf(p.Owner), r.Version, nameOf(p.Joining))
}
