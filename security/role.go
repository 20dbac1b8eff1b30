package security

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Role is a caller's role in a grid.
type Role string

// The roles. An admin has a holder's permissions, and a holder a reader's. A member may do
// everything: members act for each other and forward admins' calls.
const (
	NoRole Role = ""
	Reader Role = "reader" // looks: status, directory, lists
	Holder Role = "holder" // holds sequencers: creates, opens and attaches the names it may use
	Admin  Role = "admin"  // operates the grid: destroys, removes, recovers, changes settings
	Member Role = "member" // belongs to the grid: Raft, gossip, calls between members
)

// Roles returns all roles.
func Roles() []Role { return []Role{Member, Admin, Holder, Reader} }

// ParseRole returns the role with this name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles(), r) {
		return r, nil
	}
	return NoRole, fmt.Errorf("%w: role %.40q; give member, admin, holder or reader", ErrInvalid, name)
}

// Pattern matches sequencer names: each * matches any number of bytes, every other byte itself.
type Pattern string

// Matches reports whether the pattern matches a name.
func (p Pattern) Matches(name string) bool { return spelling.Pattern(p).Matches(name) }

// CheckPattern refuses a pattern that no new name matches, or that prints like another one.
func CheckPattern(p Pattern) error {
	if len(p) == 0 || len(p) > spelling.PatternMax {
		return fmt.Errorf("%w: pattern %.40q has %d bytes; give 1 to %d, such as orders-*", ErrInvalid, string(p), len(p),
			spelling.PatternMax)
	}
	if !utf8.ValidString(string(p)) {
		return fmt.Errorf("%w: pattern %.40q is not UTF-8", ErrInvalid, string(p))
	}
	if fault := spelling.Fault(string(p)); fault != "" {
		return fmt.Errorf("%w: pattern %s %s; give it as it is in the names", ErrInvalid, spelling.Quote(string(p)), fault)
	}
	return nil
}
