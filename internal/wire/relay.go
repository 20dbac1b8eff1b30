package wire

import (
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/security"
)

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

// PathRelayCreate is the call by which a member that does not own a name relays a create with an
// attach to the owner. The owner does not relay.
const PathRelayCreate = "/v1/member/create"

// RelayCreateRequest is a request that was made to another member.
type RelayCreateRequest struct {
	// Caller is nil if the member makes the request for its own handle.
	Caller *Caller       `json:"caller,omitempty"`
	Create CreateRequest `json:"create"`
}

// Caller is the caller that a member passes a request on for, as that member identified it. The
// owner authorizes and counts the request as the caller's, and its audit names the caller.
type Caller struct {
	Role  security.Role      `json:"role"`
	Names []security.Pattern `json:"names,omitempty"`
	Name  string             `json:"name,omitempty"`
	ID    string             `json:"id,omitempty"`
	// Remote is the address that the request came from.
	Remote string `json:"remote"`
}

// Bounds for a Caller. A certificate has fewer patterns than callerNames.
const (
	callerNames = 1024
	callerText  = 1 << 10
)

// CallerOf returns the caller that a peer at an address is.
func CallerOf(p security.Peer, remote string) Caller {
	return Caller{Role: p.Role, Names: p.Names, Name: p.Name, ID: p.ID, Remote: remote}
}

// Peer returns the caller as it proved itself to the member that passes the request on.
func (c Caller) Peer() security.Peer {
	return security.Peer{Role: c.Role, Names: c.Names, Name: c.Name, ID: c.ID}
}

// Check refuses a caller that no member identified. Errors match ErrBadRequest.
func (c Caller) Check() error {
	if _, err := security.ParseRole(string(c.Role)); err != nil {
		return failure.Errorf(ErrBadRequest, "grid: caller: %s", err.Error())
	}
	if len(c.Names) > callerNames {
		return failure.Errorf(ErrBadRequest, "grid: caller: %d patterns of names; send at most %d", len(c.Names), callerNames)
	}
	for _, p := range c.Names {
		if err := security.CheckPattern(p); err != nil {
			return failure.Errorf(ErrBadRequest, "grid: caller: %s", err.Error())
		}
	}
	for field, text := range map[string]string{"name": c.Name, "id": c.ID, "remote": c.Remote} {
		if len(text) > callerText {
			return failure.Errorf(ErrBadRequest, "grid: caller: %s has %d bytes; send at most %d", field, len(text), callerText)
		}
	}
	return nil
}
