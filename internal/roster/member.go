package roster

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// MemberID identifies a member across restarts: 16 lower-case hex digits.
type MemberID string

// Incarnation identifies one process: the member ID, a dash, and 16 hex digits drawn at its start.
// The roster names owners and replicas by incarnation, because a restarted process has lost its
// tables and is no longer a replica (R8, B2).
type Incarnation string

const idDigits = 16

// Member returns the incarnation's member.
func (i Incarnation) Member() MemberID {
	id, _, _ := strings.Cut(string(i), "-")
	return MemberID(id)
}

// Check returns an [ErrInvalid] for a malformed incarnation.
func (i Incarnation) Check() error {
	if fault := i.fault(); fault != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, fault)
	}
	return nil
}

// Check returns an [ErrInvalid] for a malformed member ID.
func (id MemberID) Check() error {
	if isHex(string(id)) {
		return nil
	}
	return fmt.Errorf("%w: member ID %.40q is not %d lower-case hex digits", ErrInvalid, string(id), idDigits)
}

// fault describes the error in the incarnation, "" for none.
func (i Incarnation) fault() string {
	id, start, found := strings.Cut(string(i), "-")
	if found && isHex(id) && isHex(start) {
		return ""
	}
	return fmt.Sprintf("incarnation %.40q is not twice %d lower-case hex digits with a dash between", string(i), idDigits)
}

func isHex(s string) bool { return spelling.IsHex(s, idDigits) }

// Member is one process's record in the roster. The addresses are host:port and only hints for
// finding the process; a member without a listener has none.
type Member struct {
	Incarnation Incarnation `json:"incarnation"`
	API         string      `json:"api"`
	Raft        string      `json:"raft"`
	Gossip      string      `json:"gossip"`
	Durable     bool        `json:"durable"` // keeps its log in a data directory
	// Zone identifies a failure domain, such as a rack or an availability zone, in at most 255
	// UTF-8 bytes. Members with "" form one zone.
	Zone string `json:"zone,omitempty"`
}

// Check returns an [ErrInvalid] for a malformed record.
func (m Member) Check() error {
	if fault := m.fault(); fault != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, fault)
	}
	return nil
}

// fault describes the error in the record, "" for none.
func (m Member) fault() string {
	if fault := m.Incarnation.fault(); fault != "" {
		return fault
	}
	for _, addr := range [...]string{m.API, m.Raft, m.Gossip} {
		if !spelling.IsPlain(addr) {
			return fmt.Sprintf("address %.40q of member %s must be at most %d bytes of UTF-8 without control characters",
				addr, m.Incarnation, spelling.MaxPlain)
		}
	}
	return m.zoneFault()
}

// GridID identifies one generation of a grid: random bits drawn when the grid is formed. A message
// with another grid's ID belongs to another grid.
type GridID [16]byte

// IsZero reports whether the ID is unset.
func (g GridID) IsZero() bool { return g == GridID{} }

// String returns 32 lower-case hex digits.
func (g GridID) String() string { return hex.EncodeToString(g[:]) }

// MarshalText returns the same text as [GridID.String]. It never fails.
func (g GridID) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, g[:]), nil
}

// IsText reports whether text equals [GridID.String].
func (g GridID) IsText(text string) bool {
	var own [2 * len(g)]byte
	hex.Encode(own[:], g[:])
	return text == string(own[:])
}

// UnmarshalText accepts exactly the output of [GridID.MarshalText]; anything else is an
// [ErrInvalid] and leaves the ID unchanged.
func (g *GridID) UnmarshalText(text []byte) error {
	if spelling.DecodeHex(g[:], text) {
		return nil
	}
	return fmt.Errorf("%w: grid ID %.40q is not 32 lower-case hex digits", ErrInvalid, text)
}
