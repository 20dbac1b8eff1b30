package security

import (
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/pattern"
)

// Role is the role of a caller at a grid.
type Role string

// The roles. An admin has the permissions of a holder, and a holder those of a reader. A member may
// do everything: members act for each other and pass the calls of admins on.
const (
	NoRole Role = ""
	Reader Role = "reader" // looks: status, directory, lists
	Holder Role = "holder" // has sequencers: creates, opens and attaches those whose names it may
	Admin  Role = "admin"  // operates the grid: destroys, removes, recovers, changes settings
	Member Role = "member" // is part of the grid: Raft, gossip, calls between members
)

// Roles are all roles.
var Roles = []Role{Member, Admin, Holder, Reader}

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles, r) {
		return r, nil
	}
	return NoRole, fmt.Errorf("%w: role %.40q; give member, admin, holder or reader", ErrInvalid, name)
}

// Pattern matches names of sequencers: each * stands for any number of any bytes, every other
// byte for itself.
type Pattern = pattern.Pattern

// CheckPattern refuses a pattern that no name matches.
func CheckPattern(p Pattern) error {
	if len(p) == 0 || len(p) > pattern.Max {
		return fmt.Errorf("%w: pattern %.40q has %d bytes; give 1 to %d, such as orders-*", ErrInvalid, string(p), len(p), pattern.Max)
	}
	return nil
}
