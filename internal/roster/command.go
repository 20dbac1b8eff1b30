package roster

import (
	"fmt"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
)

// Command is one entry in the roster's log. Exactly one part is set: Form, Raise, Change, Reset or
// Identity. A leader computes it from one roster version, and it applies only at that version:
// conditions that held in an older roster need not hold in this one. An Identity is independent of
// the version, and has From 0. Claim is the claim of the roster that the command was computed from.
type Command struct {
	From     Version          `json:"from"`
	Claim    Claim            `json:"claim,omitempty"`
	Form     *Form            `json:"form,omitempty"`
	Raise    *Raise           `json:"raise,omitempty"`
	Change   *Change          `json:"change,omitempty"`
	Reset    *Reset           `json:"reset,omitempty"`
	Identity *numbers.Command `json:"identity,omitempty"`
}

// Form makes a grid from the unformed roster. The new grid has no members, and its partitions have
// no owners.
type Form struct {
	Grid     GridID           `json:"grid"`
	Settings Settings         `json:"settings"`
	Ceiling  clustertime.Tick `json:"ceiling_ms"` // the initial ceiling, and so the first floors
	// Version is the first version of a recovered grid, above every version of the old grid; 0
	// means the default.
	Version Version `json:"version,omitempty"`
	// Disks lists, for each partition of a recovered grid, the members that have its definitions on
	// disk; empty in a new grid.
	Disks [][]MemberID `json:"disks,omitempty"`
	// Durable reports that every member that forms the grid keeps its log on disk. The log then
	// covers the grid's own grants, and only holders of an earlier grid can have other grants.
	Durable bool `json:"durable,omitempty"`
	// Anchored reports that Ceiling depends on the grid's anchor: until the anchor is taken, only a
	// reset is accepted.
	Anchored bool `json:"anchored,omitempty"`
	// Registry has the sets of the grid from whose data this one is recovered.
	numbers.Registry
	// Quotas lists the quotas of that grid.
	Quotas []Quota `json:"quotas,omitempty"`
	// Recovered records the recovery that forms the grid, nil for none.
	Recovered *Recovery `json:"recovered,omitempty"`
}

// Raise advances the cluster time and moves the ceiling to one window ahead of it (R1). Neither
// ever decreases. Like Identity, a raise keeps the version, so it does not invalidate pending
// commands.
type Raise struct {
	Time clustertime.Tick `json:"time_ms"`
	// Limit is the limit in an anchored grid's record under the roster's claim, as read by the
	// leader (A1): the ceiling rises no further. 0 without an anchor.
	Limit clustertime.Tick `json:"limit_ms,omitempty"`
}

// Apply returns the roster after a command. For a refused command it returns r itself and an error:
// [ErrStale] if the command was computed from another version, otherwise [ErrRefused] with the
// reason, or an error of [numbers.Registry.Apply].
func (r *Roster) Apply(c Command) (*Roster, error) {
	next, err := r.apply(c)
	if err != nil {
		return r, err
	}
	if next != r {
		if err := next.checkSince(r); err != nil {
			return r, refused("it results in an invalid roster: %v", err)
		}
	}
	return next, nil
}

func (r *Roster) apply(c Command) (*Roster, error) {
	if c.From != r.Version && (c.Identity == nil || c.From != 0) {
		return nil, fmt.Errorf("%w: computed from %d, now %d", ErrStale, c.From, r.Version)
	}
	if parts := c.Parts(); parts != 1 {
		return nil, refused("it has %d parts, but must have one", parts)
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

// Parts returns the number of parts that are set; a valid command has one.
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
		return nil, refused("the grid is already formed")
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
		Registry:   f.Registry,
		Quotas:     f.Quotas,
		Recovered:  f.Recovered,
	}
	if err := CheckQuotas(f.Quotas); err != nil {
		return nil, refused("%v", err)
	}
	if fault := f.SetsFault(numbers.Registry{}); fault != "" {
		return nil, refused("%s", fault)
	}
	if err := checkRecovery(f.Recovered, len(next.Partitions)); err != nil {
		return nil, refused("%v", err)
	}
	needed, _ := next.Needs()
	next.Protocol = needed.stored()
	if len(f.Disks) > 0 && len(f.Disks) != len(next.Partitions) {
		return nil, refused("it names disks for %d partitions, but the grid has %d", len(f.Disks), len(next.Partitions))
	}
	for id, disk := range f.Disks {
		for i, m := range disk {
			if !isHex(string(m)) || i > 0 && disk[i-1] >= m {
				return nil, refused("partition %d has the disks %v, which are not members in ascending order", id, disk)
			}
		}
		next.Partitions[id].Disk = disk
	}
	return next, nil
}

// identify applies a step of a set. It grants nothing, so it keeps the version and Stopped.
func (r *Roster) identify(c numbers.Command) (*Roster, error) {
	registry, changed, err := r.Registry.Apply(c)
	if err != nil || !changed {
		return r, err
	}
	next := *r
	next.Registry = registry
	return &next, nil
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
	ceiling := t.Time.Add(r.Settings.Window)
	if r.Claim != "" { // A2
		ceiling = min(ceiling, t.Limit)
	}
	next.Ceiling = max(r.Ceiling, ceiling)
	return &next, nil
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}
