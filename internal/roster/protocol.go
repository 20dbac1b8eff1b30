package roster

import "fmt"

// Protocol is a version of the roster log's format and of the messages between members. A release
// supports protocols [OldestProtocol] to [CurrentProtocol], so the members of a grid can be
// upgraded, and downgraded, one at a time.
//
// A member must stop at a command with a part that its protocol lacks: otherwise its roster would
// diverge. A new part is therefore used only after the roster's protocol includes it. The leader
// raises the protocol when such a part is first used, if every member supports it. A grid that uses
// no new part keeps the older protocol in its roster, and each member can go back to the older
// release:
//
//	        Change.Protocol 2: a new part is requested, and every member has protocol 2
//	+----+ --------------------------------------------------------------------> +----+
//	| 1  |                                                                       | 2  |
//	+----+ <-------------------------------------------------------------------- +----+
//	        Change.Protocol 1: nothing new is in use
//
// A new part in [Command], [Change], [Form], [Settings], [Member] or [Roster] needs a line in
// [Command.Needs] and [Roster.Needs]. Before the first release there is one protocol. The build tag
// nextrelease adds a second one with one part ([Upcoming]), to test upgrades.
type Protocol int

const (
	// Protocol1 is the protocol of the first release. In a roster it is stored as 0.
	Protocol1 Protocol = 1

	// OldestProtocol is the oldest protocol that this release reads.
	OldestProtocol = Protocol1
)

// Known returns p, with Protocol1 for 0.
func (p Protocol) Known() Protocol { return max(p, Protocol1) }

// stored returns p as the roster stores it: 0 for Protocol1.
func (p Protocol) stored() Protocol {
	if p == Protocol1 {
		return 0
	}
	return p
}

// InUse returns the roster's protocol. Commands with parts from a later protocol are refused.
func (r *Roster) InUse() Protocol { return r.Protocol.Known() }

// newsNumber names the protocol number itself as a part.
const newsNumber = "the protocol number"

// Needs returns the protocol that is required to read the command, and the part that requires it,
// "" for [Protocol1].
func (c Command) Needs() (needed Protocol, part string) {
	switch {
	case c.Form != nil:
		return c.Form.Settings.needs()
	case c.Change == nil:
		return Protocol1, ""
	case c.Change.Protocol > Protocol1: // a release without it has to stop here, instead of refusing the change
		return c.Change.Protocol, newsNumber
	}
	return c.Change.needs()
}

// Needs returns the protocol that is required to read the roster, without regard to its Protocol
// field, and the part that requires it, "" for [Protocol1].
func (r *Roster) Needs() (needed Protocol, part string) { return r.Settings.needs() }

// CheckProtocol refuses a command with a part that the roster's protocol lacks. A new grid starts
// with the protocol that its settings need, and a change may itself raise the protocol that it
// needs. Errors match [ErrRefused].
func (r *Roster) CheckProtocol(c Command) error {
	if c.Form != nil || c.Change != nil && c.Change.Protocol != 0 {
		return nil
	}
	if needed, part := c.Needs(); needed > r.InUse() {
		return refused("%s requires protocol %d, but the grid uses %d; it is raised when every member runs a release with "+
			"protocol %d",
			part, needed, r.InUse(), needed)
	}
	return nil
}

// checkRaised refuses a protocol that equals the current one, that this release lacks, or that is
// too old for a part in use.
func (r *Roster) checkRaised(p Protocol) error {
	if p == 0 {
		return nil
	}
	if p == r.InUse() || p < OldestProtocol || p > CurrentProtocol {
		return refused("protocol %d: the grid uses %d, and this release supports %d to %d", p, r.InUse(), OldestProtocol,
			CurrentProtocol)
	}
	return nil
}

// String returns the number.
func (p Protocol) String() string { return fmt.Sprint(int(p)) }
