package explore

// Scope bounds the events in an exploration. Everything within it is tried in every order.
type Scope struct {
	Name     string
	InSync   string // in sync with the owner A at the start, in "BC"
	Alone    bool   // A is the only member at the start
	Nodes    int    // logical nodes in use, 1 or 2
	Holders  int    // attachments, 1 to 3
	Attached int    // attachments with a node at the start

	Versions   int    // roster versions, including the first one
	Rises      int    // of the ceiling
	Operations int    // changes to a table in one term
	Moves      string // possible roster changes, by the letters of moves
	Script     string // instead: one move and its member per version, as in "dCaC"
	Restarts   int    // process restarts
	Lives      int    // of the name, including the first one
	Requests   string // holders' requests besides attach and renew, by the letters of requests
	Early      bool   // the start's letters are still in transit
	Late       bool   // letters from ended terms are still in transit
	Wide       bool   // takes seconds
}

// The letters of Scope.Moves.
const (
	moveTake   = 't' // an in-sync replica takes over (R2)
	moveDepose = 'T' // the same, and the owner is removed in the same entry
	moveLose   = 'l' // a loss, the new owner alone in sync (R3)
	moveLoseTo = 'L' // a loss, all members in sync
	moveDrop   = 'd' // a replica or joiner is dropped (R4)
	moveAdd    = 'a' // a joiner, and its admission (R5)
	moveRemove = 'x' // a member that does not own is removed
	moveReturn = 'r' // a removed member or a new incarnation registers (R8)
	moveStop   = 's' // a clean stop (S1)
)

// The letters of Scope.Requests.
const (
	requestDetach  = 'd'
	requestExpire  = 'e'
	requestLate    = 'l' // requests for a returned attachment still arrive
	requestSet     = 's' // renewals of everything by a fingerprint
	requestDestroy = 'D' // destroy and create
	requestFold    = 'f'
	requestShort   = 'S' // an owner grants less than up to the ceiling
)

const (
	maxMembers = 3
	maxHolders = 3
	maxNodes   = 2
)
