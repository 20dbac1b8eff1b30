package wire

// Relay is set by a member that passes a call on to the leader, or to the owner. A member takes it from other
// members only.
type Relay struct {
	AskedBy   string `json:"asked_by,omitempty"`  // the forwarding member's caller
	Forwarded bool   `json:"forwarded,omitempty"` // to the leader or the owner
	// Caller is that caller, for its credential's limits; nil for the member's own process.
	Caller *Caller `json:"caller,omitempty"`
}

// Via returns the part that a forwarding member sets.
func (r *Relay) Via() *Relay { return r }

// Relayed is a pointer to a request that members pass on to the leader or the owner.
type Relayed interface{ Via() *Relay }
