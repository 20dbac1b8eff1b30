package roster

import "fmt"

// Protocol numbers the versions of the roster's log and of the messages between members.
// A release reads protocols [OldestProtocol] to [CurrentProtocol], so that the members of a
// grid can be upgraded, and taken back, one at a time.
//
// A member of an older protocol has to stop at a command with a part that it does not
// know: its roster would differ from all others. So a new part is used only after the
// roster has its protocol, and the leader raises that, when a part is used for the first
// time, if every member has it. A grid that uses nothing new keeps the older protocol in its
// roster, and each of its members may go back to the older release:
//
//	        Change.Protocol 2: a new part is wanted, and every member has protocol 2
//	+----+ --------------------------------------------------------------------> +----+
//	| 1  |                                                                       | 2  |
//	+----+ <-------------------------------------------------------------------- +----+
//	        Change.Protocol 1: nothing new is in use
//
// A new part of [Command], [Change], [Form], [Settings], [Member] or [Roster] needs a line
// in [Command.Needs] and [Roster.Needs]. Before the first release there is one protocol; the
// build tag nextrelease adds a second one with one part ([Upcoming]), so that upgrades are
// tested.
type Protocol int

const (
	// Protocol1 is the protocol of the first release. In a roster 0 stands for it.
	Protocol1 Protocol = 1

	// OldestProtocol is the oldest protocol that this release reads.
	OldestProtocol = Protocol1
)

// Known returns p, and Protocol1 for 0.
func (p Protocol) Known() Protocol { return max(p, Protocol1) }

// stored returns p as a roster has it: 0 for Protocol1.
func (p Protocol) stored() Protocol {
	if p == Protocol1 {
		return 0
	}
	return p
}

// InUse returns the roster's protocol: commands with parts of a later one are refused.
func (r *Roster) InUse() Protocol { return r.Protocol.Known() }

// newsNumber is the part by which a protocol is agreed on.
const newsNumber = "the number of the protocol"

// Needs returns the protocol that a member needs to read the command, and the part that
// needs it, "" for [Protocol1].
func (c Command) Needs() (needed Protocol, part string) {
	switch {
	case c.Form != nil:
		return c.Form.Settings.needs()
	case c.Change == nil:
		return Protocol1, ""
	case c.Change.Protocol > Protocol1: // a release without it has to stop here, not to refuse the change
		return c.Change.Protocol, newsNumber
	}
	return c.Change.needs()
}

// Needs returns the protocol that a member needs to read the roster apart from the number
// of its protocol, and the part that needs it, "" for [Protocol1].
func (r *Roster) Needs() (needed Protocol, part string) { return r.Settings.needs() }

// CheckProtocol refuses a command with a part that the roster's protocol does not have.
// A new grid begins with the protocol of its settings, and a change may raise the
// protocol that it needs itself. Errors match [ErrRefused].
func (r *Roster) CheckProtocol(c Command) error {
	if c.Form != nil || c.Change != nil && c.Change.Protocol != 0 {
		return nil
	}
	needed, part := c.Needs()
	return r.needs(needed, part)
}

// needs refuses a part of a command that needs a later protocol than the roster's.
func (r *Roster) needs(p Protocol, part string) error {
	if p <= r.InUse() {
		return nil
	}
	return refused("%s: protocol %d is needed, and that of the grid is %d; it is raised when every member runs a release with protocol %d",
		part, p, r.InUse(), p)
}

// checkRaised refuses a change of the protocol to the present one, to one that this release
// does not have, and to one that lacks a part which is in use.
func (r *Roster) checkRaised(p Protocol) error {
	if p == 0 {
		return nil
	}
	if p == r.InUse() || p < OldestProtocol || p > CurrentProtocol {
		return refused("protocol %d: the grid has %d, and there are %d to %d", p, r.InUse(), OldestProtocol, CurrentProtocol)
	}
	return nil
}

// checkLowered refuses a roster with a part that its protocol does not have.
func (r *Roster) checkLowered() error {
	if needed, part := r.Needs(); needed > r.InUse() {
		return refused("protocol %d lacks %s, which is in use and needs %d", r.InUse(), part, needed)
	}
	return nil
}

// String returns the number.
func (p Protocol) String() string { return fmt.Sprint(int(p)) }
