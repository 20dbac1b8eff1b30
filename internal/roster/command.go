package roster

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

// Command is one entry of the roster's log. Exactly one of Form, Raise, Change, Reset and
// Identity is set. A leader computes it from one version of the roster, and it
// counts only while that is still the version: conditions in an older roster need not
// hold in this one. Only an identity is of no version, and From is 0 in it. The claim is
// that of the roster that the command was computed from.
type Command struct {
	From     Version   `json:"from"`
	Claim    Claim     `json:"claim,omitempty"`
	Form     *Form     `json:"form,omitempty"`
	Raise    *Raise    `json:"raise,omitempty"`
	Change   *Change   `json:"change,omitempty"`
	Reset    *Reset    `json:"reset,omitempty"`
	Identity *Identity `json:"identity,omitempty"`
}

// Form makes a grid of the unformed roster. It has no members yet and its
// partitions have no owners.
type Form struct {
	Grid     GridID           `json:"grid"`
	Settings Settings         `json:"settings"`
	Ceiling  clustertime.Tick `json:"ceiling_ms"` // where the ceiling, and so the first floors, begin
	// Version is where the versions of a grid begin that was recovered from another
	// one's data, above all of that one's; 0 is the first.
	Version Version `json:"version,omitempty"`
	// Disks are, for each partition of a grid that was recovered, the members whose
	// disks have its definitions; empty in a new grid.
	Disks [][]MemberID `json:"disks,omitempty"`
	// Durable says that every member that forms the grid keeps its log on disk, so that
	// the grid knows its own grants, and only holders of an earlier grid can have others.
	Durable bool `json:"durable,omitempty"`
	// Anchored says that Ceiling rests on the grid's anchor: nothing but a reset is
	// accepted before the anchor is taken.
	Anchored bool `json:"anchored,omitempty"`
	// Sets are those of the grid from whose data this one is recovered.
	Sets []Set `json:"sets,omitempty"`
	// Dropped are those sets of it that were dropped.
	Dropped []DroppedSet `json:"dropped,omitempty"`
	// Quotas are likewise.
	Quotas []Quota `json:"quotas,omitempty"`
	// Recovered records the recovery that forms the grid, nil for none.
	Recovered *Recovery `json:"recovered,omitempty"`
}

// Raise tells the cluster time and moves the ceiling to the window ahead of it
// (R1). Neither ever moves back. Like [Identity] it keeps the version, so it disturbs
// no pending command.
type Raise struct {
	Time clustertime.Tick `json:"time_ms"`
	// Limit is the limit that the leader has seen in the record of an anchored grid under the
	// roster's claim (A1): the ceiling rises no further. 0 without an anchor.
	Limit clustertime.Tick `json:"limit_ms,omitempty"`
}

// Apply gives the roster after a command. A command that is refused changes
// nothing: Apply then returns r itself, with an error that is [ErrStale] if the
// command was computed from another version, and [ErrRefused] with the reason
// otherwise.
func (r *Roster) Apply(c Command) (*Roster, error) {
	next, err := r.apply(c)
	if err != nil {
		return r, err
	}
	if next != r {
		if err := next.checkSince(r); err != nil {
			return r, refused("no member could read the roster after it: %v", err)
		}
	}
	return next, nil
}

func (r *Roster) apply(c Command) (*Roster, error) {
	if c.From != r.Version && (c.Identity == nil || c.From != 0) {
		return nil, fmt.Errorf("%w: computed from %d, now %d", ErrStale, c.From, r.Version)
	}
	if parts := c.Parts(); parts != 1 {
		return nil, refused("it has %d parts and must have one", parts)
	}
	if err := r.checkClaim(c); err != nil {
		return nil, err
	}
	if err := r.CheckProtocol(c); err != nil {
		return nil, err
	}
	if c.Form != nil {
		return r.form(*c.Form)
	}
	if !r.Formed() {
		return nil, refused("the grid is not formed yet")
	}
	switch {
	case c.Raise != nil:
		return r.raise(*c.Raise)
	case c.Reset != nil:
		return r.reset(*c.Reset)
	case c.Identity != nil:
		return r.identify(*c.Identity)
	}
	return r.change(*c.Change)
}

// Parts counts the parts of the command. One without a part, or with two, is refused.
func (c Command) Parts() int {
	n := 0
	for _, set := range [...]bool{c.Form != nil, c.Raise != nil, c.Change != nil, c.Reset != nil, c.Identity != nil} {
		if set {
			n++
		}
	}
	return n
}

func (r *Roster) form(f Form) (*Roster, error) {
	if r.Formed() {
		return nil, refused("the grid is formed already")
	}
	if f.Grid.IsZero() {
		return nil, refused("the grid has no ID")
	}
	if fault := f.Settings.fault(); fault != "" {
		return nil, refused("%s", fault)
	}
	if f.Version > maxVersion {
		return nil, refused("version %d is not at most %d", f.Version, uint64(maxVersion))
	}
	if f.Ceiling < 0 || f.Ceiling > clustertime.Latest {
		return nil, refused("ceiling %d is not between 0 and the year 9999", f.Ceiling)
	}
	next := &Roster{
		Grid:       f.Grid,
		Version:    max(1, f.Version),
		Ceiling:    f.Ceiling,
		Settings:   f.Settings,
		KeepsLog:   f.Durable,
		Anchored:   f.Anchored,
		Began:      f.Ceiling,
		Partitions: make([]Partition, f.Settings.Partitions),
		Sets:       f.Sets,
		Dropped:    f.Dropped,
		Quotas:     f.Quotas,
		Recovered:  f.Recovered,
	}
	if err := CheckQuotas(f.Quotas); err != nil {
		return nil, refused("%v", err)
	}
	if err := CheckDropped(f.Dropped); err != nil {
		return nil, refused("%v", err)
	}
	if err := CheckSets(f.Sets); err != nil {
		return nil, refused("%v", err)
	}
	if err := CheckRecovery(f.Recovered, len(next.Partitions)); err != nil {
		return nil, refused("%v", err)
	}
	needed, _ := next.Needs()
	next.Protocol = needed.stored()
	if len(f.Disks) > 0 && len(f.Disks) != len(next.Partitions) {
		return nil, refused("the disks of %d partitions are named, and there are %d", len(f.Disks), len(next.Partitions))
	}
	for id, disk := range f.Disks {
		for i, m := range disk {
			if !isHex(string(m)) || i > 0 && disk[i-1] >= m {
				return nil, refused("the disks of partition %d are %v, which are not members in order", id, disk)
			}
		}
		next.Partitions[id].Disk = disk
	}
	return next, nil
}

func (r *Roster) raise(t Raise) (*Roster, error) {
	if t.Time < 0 || t.Time > clustertime.Latest.Add(-r.Settings.Window) {
		return nil, refused("time %d is not between 0 and the year 9999", t.Time)
	}
	if err := r.checkLimit(t.Limit, 0); err != nil {
		return nil, err
	}
	next := *r
	next.Stopped = 0
	next.Time = max(r.Time, t.Time)
	next.Ceiling = r.raised(t)
	return &next, nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}
