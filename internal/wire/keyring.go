package wire

import "github.com/snowgrid/snowgrid/internal/roster"

// Paths for the gossip keys. Any member serves the first, and calls every member on the second.
const (
	PathKeyring = "/v1/keyring"
	PathSetKeys = "/v1/member/keyring"
)

// Operations on the gossip keys.
const (
	KeyringList    = "list"
	KeyringInstall = "install"
	KeyringUse     = "use"
	KeyringRemove  = "remove"
)

// KeyringRequest requests every member's gossip keys, or a change to them.
type KeyringRequest struct {
	Operation string `json:"operation"`
	// Key is the key to install, in base64. Nothing else needs a whole key.
	Key string `json:"key,omitempty"`
	// Fingerprint identifies the key to use or remove.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// KeyringResponse has the outcome at every member.
type KeyringResponse struct {
	Members []KeyringMember `json:"members"`
	// Fingerprint identifies the key.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Advice is for an operator, a sentence for each step; empty if nothing is due.
	Advice []string `json:"advice,omitempty"`
}

// KeyringMember is the outcome at a member.
type KeyringMember struct {
	Incarnation roster.Incarnation `json:"incarnation"`
	Name        string             `json:"name,omitempty"`
	API         string             `json:"api"`
	// Keys are the fingerprints of its keys; the first one encrypts.
	Keys []string `json:"keys,omitempty"`
	// Unsaved is the reason that a restart would load other keys, "" if it would not.
	Unsaved string `json:"unsaved,omitempty"`
	// Error is the reason that the member failed, "" if it succeeded.
	Error string `json:"error,omitempty"`
}

// SetKeysRequest requests one member's keys, or a change to them.
type SetKeysRequest struct {
	KeyringRequest

	AskedBy string `json:"asked_by,omitempty"` // the caller at the first member
	// Change identifies a use or a removal, from random bits. The list before it reserves the member's keys for it.
	Change string `json:"change,omitempty"`
	// Release ends the reservation, of a list alone.
	Release bool `json:"release,omitempty"`
}

// SetKeysResponse has a member's keys after the operation.
type SetKeysResponse struct {
	Keys    []string `json:"keys"`
	Unsaved string   `json:"unsaved,omitempty"`
}
