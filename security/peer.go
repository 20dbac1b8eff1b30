package security

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Peer is a caller, as it proved itself. The zero value has no role.
type Peer struct {
	Role  Role
	Names []Pattern // usable sequencers; empty = all
	// Name is for display: a certificate's common name, or a token's subject.
	Name string
	// ID distinguishes credentials, for limits and logs: "cert:" and part of the certificate's
	// fingerprint, "token:" and the token's ID, or "" for none.
	ID      string
	Expires time.Time // zero: never
	Grid    string    // the name of the grid that the credential is for; "" if it names none
}

// Everyone returns the caller that a member without security has: it has all permissions.
func Everyone() Peer { return Peer{Role: Member, Name: "anyone"} }

// Self returns the member's own process as a caller.
func Self() Peer { return Peer{Role: Member, Name: "this process"} }

// MayUse reports whether the peer's names allow a sequencer.
func (p Peer) MayUse(name string) bool {
	return len(p.Names) == 0 || slices.ContainsFunc(p.Names, func(n Pattern) bool { return n.Matches(name) })
}

// String describes the peer for logs and errors.
func (p Peer) String() string {
	switch {
	case p.Role == NoRole && p.ID == "":
		return "a caller without certificate or token"
	case p.Role == NoRole:
		return fmt.Sprintf("%q (%s), which has no role", p.Name, p.ID)
	case p.ID == "":
		return p.Name
	}
	names := ""
	if len(p.Names) > 0 {
		list := make([]string, len(p.Names))
		for i, n := range p.Names {
			list[i] = string(n)
		}
		names = ", names " + strings.Join(list, " ")
	}
	return fmt.Sprintf("%q (%s, role %s%s)", p.Name, p.ID, p.Role, names)
}
