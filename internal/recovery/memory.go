package recovery

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// Bounds are a survivor's upper limits on grants in the grids that it has left.
type Bounds struct {
	Ceiling clustertime.Tick
	Time    clustertime.Tick // cluster time, 0 = unknown
	Window  clustertime.Span // the largest one
	Wall    clustertime.Tick // the survivor's wall clock
	// Registry has the survivor's sets, without their members.
	numbers.Registry
}

// Left is a survivor's record of the grid that it has left. The zero value means that it has left
// none.
type Left struct {
	Grid     roster.GridID
	Claim    roster.Claim // the anchor's claim, "" for none
	Settings roster.Settings
	numbers.Registry
	Quotas []roster.Quota
	Bounds Bounds
}

// Leave returns the record after a member has also left this grid, with its last roster and the
// cluster time. A member without a roster keeps the settings from the grid that it left before, or
// else the configured ones.
func (l Left) Leave(grid roster.GridID, r *roster.Roster, now clustertime.Tick, configured roster.Settings) Left {
	next := Left{Grid: grid, Claim: r.Claim, Settings: r.Settings, Registry: r.Registry, Quotas: r.Quotas,
		Bounds: l.BoundsAfter(r, now)}
	if !r.Formed() {
		next.Settings = configured
	}
	if r.Anchored && r.Claim == "" { // it has granted nothing, or the record bounds that, too
		next.Claim = l.Claim
	}
	if !r.Formed() && !l.Grid.IsZero() {
		next.Settings, next.Claim, next.Registry, next.Quotas = l.Settings, l.Claim, l.Registry, l.Quotas
	}
	next.Bounds.Registry = numbers.Registry{}.Merge(next.Registry)
	return next
}

// BoundsAfter returns a member's bounds after it leaves a grid, including its earlier bounds.
func (l Left) BoundsAfter(r *roster.Roster, now clustertime.Tick) Bounds {
	return Bounds{
		Ceiling: max(r.Ceiling, l.Bounds.Ceiling),
		Time:    max(r.Time, now, l.Bounds.Time),
		Window:  max(r.Settings.Window, l.Bounds.Window),
	}
}

// FromMemory returns the first entry for a grid formed by another grid's survivors, and the
// allowance for clock jumps in its ceiling. Its grants start above every survivor's bound, and
// above any grant that a missing member can have made after a raise that no survivor received. own
// is the bootstrap member's record, with its wall clock, and told are the other survivors' bounds.
func FromMemory(grid roster.GridID, own Left, told []Bounds, anchored bool, floor clustertime.Tick) (roster.Form,
	clustertime.Span) {
	var bounds []clustertime.Bound
	for _, b := range append(told, own.Bounds) {
		window := max(b.Window, own.Settings.Window)
		bounds = append(bounds, clustertime.Bound{Ceiling: b.Ceiling, Time: b.Time, Wall: b.Wall, Window: window})
	}
	first, jump := clustertime.After(bounds, floor)
	if anchored && own.Claim != "" { // the record bounds raises that no survivor received
		first, jump = floor, 0
		for _, b := range bounds {
			first = max(first, b.Ceiling)
		}
	}
	registry := own.Registry
	for _, b := range told {
		registry = registry.Merge(b.Registry)
	}
	return roster.Form{Grid: grid, Settings: own.Settings, Ceiling: first, Anchored: anchored,
		Registry: registry, Quotas: own.Quotas}, jump
}
