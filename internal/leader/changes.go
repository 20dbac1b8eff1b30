package leader

import "github.com/snowgrid/snowgrid/internal/roster"

// changes proposes changes of the roster, one at a time: a second one would be computed from
// the same version, and refused.
type changes struct {
	out     Member
	pending bool // a change has no outcome yet
}

func (c *changes) propose(command roster.Command) {
	c.pending = true
	c.out.Propose(command)
}
