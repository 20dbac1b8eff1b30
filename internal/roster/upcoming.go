//go:build !nextrelease

package roster

// CurrentProtocol is the latest protocol that this release reads.
const CurrentProtocol = Protocol1

// Upcoming has the parts of [Settings] and [Change] that the next protocol adds: none yet. With
// the build tag nextrelease it has one, for tests of upgrades.
type Upcoming struct{}

// needs returns the protocol that a member needs to read the parts, and the first of them.
func (Upcoming) needs() (Protocol, string) { return Protocol1, "" }

// After returns the parts after a change, of which c has the new values.
func (u Upcoming) After(c Upcoming) Upcoming { return u }

// Beyond returns the parts that change those of a roster.
func (u Upcoming) Beyond(now Upcoming) Upcoming { return u }
