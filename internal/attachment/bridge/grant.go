package bridge

import "github.com/snowgrid/snowgrid/internal/clustertime"

// Grant is the right to use one logical node's timestamps From <= t < Until,
// both Unix milliseconds. A grant belongs to one attachment; the grid never
// gives overlapping grants of one logical node to two attachments.
type Grant struct {
	From  clustertime.Tick `json:"from"`
	Until clustertime.Tick `json:"until"`
}

// Empty reports whether no timestamp lies inside the grant.
func (g Grant) Empty() bool { return g.Until <= g.From }

// Holds reports whether timestamp t lies inside the grant.
func (g Grant) Holds(t clustertime.Tick) bool { return g.From <= t && t < g.Until }
