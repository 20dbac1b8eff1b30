package wire

import "github.com/snowgrid/snowgrid/internal/roster"

// Paths of the gossip's keys. Any member serves the first and asks every member by the other.
const (
	PathKeyring = "/v1/keyring"
	PathSetKeys = "/v1/member/keyring"
)

// Operations of the gossip's keys.
const (
	KeyringList    = "list"
	KeyringInstall = "install"
	KeyringUse     = "use"
	KeyringRemove  = "remove"
)

// KeyringRequest asks for the gossip's keys of every member, or for a change of them.
type KeyringRequest struct {
	Operation string `json:"operation"`
	// Key is the key to install, in base64. Nothing else needs a whole key.
	Key string `json:"key,omitempty"`
	// Fingerprint is that of the key to use or to remove.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// KeyringResponse has the outcome at every member.
type KeyringResponse struct {
	Members []KeyringMember `json:"members"`
	// Fingerprint is that of the key in question.
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
	// Unsaved says why a restart would have other keys, "" if it has the same.
	Unsaved string `json:"unsaved,omitempty"`
	// Error says why the member did not do it, "" if it did.
	Error string `json:"error,omitempty"`
}

// SetKeysRequest asks one member for its keys, or for a change of them.
type SetKeysRequest struct {
	KeyringRequest

	AskedBy string `json:"asked_by,omitempty"` // the caller at the first member
}

// SetKeysResponse has the keys of a member after the operation.
type SetKeysResponse struct {
	Keys    []string `json:"keys"`
	Unsaved string   `json:"unsaved,omitempty"`
}
