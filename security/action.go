package security

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is the kind of a caller's request. The audit log contains its text.
type Action string

// The actions.
const (
	Health Action = "health" // whether the process is alive and ready

	Status    Action = "status"    // grid state, settings, numbers
	Directory Action = "directory" // members and owners
	List      Action = "list"      // sequencers, their holders, gossip members

	Create Action = "create"
	Open   Action = "open"
	Attach Action = "attach"
	Renew  Action = "renew"
	Detach Action = "detach"
	IDs    Action = "ids"
	Events Action = "events"
	Number Action = "number" // apply for and register a number in a set

	Destroy       Action = "destroy"
	Init          Action = "init"
	Recover       Action = "recover"
	Forget        Action = "forget"
	TakeAnchor    Action = "take-anchor"
	Remove        Action = "remove"
	Settings      Action = "settings" // change them
	CleanNumbers  Action = "identity-clean"
	ImportNumbers Action = "identity-import"
	Subscribe     Action = "subscribe"
	Unsubscribe   Action = "unsubscribe"
	Keyring       Action = "keyring"
	Debug         Action = "debug"

	Raft      Action = "raft"
	Gossip    Action = "gossip"
	Hello     Action = "hello"
	Push      Action = "push"   // push roster changes
	Follow    Action = "follow" // a leader, by its pushes
	Join      Action = "join"
	Leave     Action = "leave"
	Accept    Action = "accept"
	Abandon   Action = "abandon"
	Dismiss   Action = "dismiss"
	Earlier   Action = "earlier"
	Replicate Action = "replicate"
	Held      Action = "held"
	Stored    Action = "stored"
	Collect   Action = "collect"
	Relay     Action = "relay" // pass another caller's create to the owner
	Count     Action = "count"
	SetKeys   Action = "set-keys" // set gossip keys at one member
)

// table has the least role for each action; see least.
var table = map[Action]Role{
	Health: NoRole,

	Status: Reader, Directory: Reader, List: Reader,

	Create: Holder, Open: Holder, Attach: Holder, Renew: Holder, Detach: Holder, IDs: Holder, Events: Holder,
	Number: Holder,

	Destroy: Admin, Init: Admin, Recover: Admin, Forget: Admin, TakeAnchor: Admin, Remove: Admin, Settings: Admin,
	CleanNumbers: Admin, ImportNumbers: Admin, Subscribe: Admin, Unsubscribe: Admin, Keyring: Admin, Debug: Admin,

	Raft: Member, Gossip: Member, Hello: Member, Push: Member, Follow: Member, Join: Member, Leave: Member, Accept: Member,
	Abandon: Member, Dismiss: Member,
	Earlier: Member, Replicate: Member, Held: Member, Stored: Member, Collect: Member, Relay: Member, Count: Member,
	SetKeys: Member,
}

// rank orders the roles: each role includes the permissions of the roles before it.
var rank = []Role{NoRole, Reader, Holder, Admin, Member}

// Actions returns all actions in the table, sorted.
func Actions() []Action {
	return slices.Sorted(maps.Keys(table))
}

// Least returns the lowest role that may do an action, and whether the table has the action.
func Least(a Action) (Role, bool) {
	r, known := table[a]
	return r, known
}

// Authorize returns nil if a caller may perform an action on the named sequencer; the name is ""
// for an action without one. Errors match [ErrUnauthenticated] if the caller proved no identity,
// else [ErrDenied], and name the required role. An action that is not in the table is denied to all
// callers.
func Authorize(p Peer, a Action, name string) error {
	least, known := table[a]
	if !known {
		return fmt.Errorf("%w: %s: no role may do this", ErrDenied, a)
	}
	if least == NoRole {
		return nil
	}
	if p.Role == NoRole && p.ID == "" {
		return fmt.Errorf("%w: %s needs the role %s; give %s (snowgrid secure)", ErrUnauthenticated, a, least,
			credential(least))
	}
	if slices.Index(rank, p.Role) < slices.Index(rank, least) {
		return fmt.Errorf("%w: %s needs the role %s, and the caller is %s; use %s", ErrDenied, a, least, p,
			credential(least))
	}
	ofGrid := least == Member || least == Admin && a != Destroy
	if len(p.Names) > 0 && ofGrid { // no limit to names allows it
		return fmt.Errorf("%w: %s is an action on the whole grid, and the caller is %s, limited to names; use %s without "+
			"names", ErrDenied, a, p, credential(least))
	}
	if name != "" && !p.MayUse(name) {
		return fmt.Errorf("%w: %s of %.100q: the caller is %s; use a certificate or a token for that name", ErrDenied,
			a, name, p)
	}
	return nil
}

// credential returns the credential that proves a role or a higher one, for people. No token has the role member.
func credential(least Role) string {
	if least == Member {
		return "a certificate of the role member"
	}
	var names []string
	for _, role := range rank[slices.Index(rank, least):slices.Index(rank, Member)] {
		names = append(names, string(role))
	}
	return "a certificate or a token of the role " + strings.Join(names, " or ")
}
