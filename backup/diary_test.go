package backup

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// diary is a fake machine whose content is the list of its operations. A change is the
// added lines.
type diary struct {
	lines   []string
	changed int // lines that no change has given yet
}

func (d *diary) BecomeOwner(floor clustertime.Tick, lost, complete bool) {
	if lost {
		d.lines = nil
	}
	d.lines, d.changed = append(d.lines, fmt.Sprintf("floor%d", floor)), 0
}

func (d *diary) Snapshot() []string { return slices.Clone(d.lines) }

func (d *diary) Restore(lines []string) { d.lines, d.changed = slices.Clone(lines), 0 }

func (d *diary) Change() []string {
	c := slices.Clone(d.lines[len(d.lines)-d.changed:])
	d.changed = 0
	return c
}

func (d *diary) Apply(lines []string) { d.lines = append(d.lines, lines...) }

// diaryUpdate is an update of diaries.
type diaryUpdate = Update[[]string, []string]

// actor is a replica with its machine.
type actor struct {
	name    roster.Incarnation
	replica *Replica[[]string, []string]
	diary   *diary
}

func newActor(name roster.Incarnation) *actor {
	d := &diary{}
	return &actor{name: name, replica: New(7, name, d), diary: d}
}

// write makes a change as the owner does.
func (a *actor) write(lines ...string) Position {
	a.diary.lines = append(a.diary.lines, lines...)
	a.diary.changed += len(lines)
	return a.replica.Changed()
}
