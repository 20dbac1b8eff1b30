//go:build !nextrelease

package roster

// CurrentProtocol is the latest protocol that this release reads.
const CurrentProtocol = Protocol1

// Upcoming has the parts that the next protocol adds to [Settings] and [Change]: none yet. With the
// build tag nextrelease it has one, to test upgrades.
type Upcoming struct{}

// needs returns the protocol that is required to read the parts, and the first part that requires
// it.
func (Upcoming) needs() (Protocol, string) { return Protocol1, "" }

// After returns the parts after a change with the new values c.
func (u Upcoming) After(c Upcoming) Upcoming { return u }

// Beyond returns the parts that differ from the current ones.
func (u Upcoming) Beyond(now Upcoming) Upcoming { return u }
