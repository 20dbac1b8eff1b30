package wire

import "github.com/snowgrid/snowgrid/internal/roster"

// RemoveRequest asks any member for a member to be taken out of the grid, whether it runs
// or not.
type RemoveRequest struct {
	Member roster.MemberID `json:"member"`
	Relay
}

// RemoveResponse is the outcome for the member.
type RemoveResponse struct {
	Member roster.MemberID `json:"member"`
	// Leaving is the incarnation that was told to leave and does, "" for a member that did
	// not run and is removed.
	Leaving roster.Incarnation `json:"leaving,omitempty"`
	API     string             `json:"api,omitempty"` // of Leaving
	Disks   int                `json:"disks"`         // partitions whose definitions its disk has, besides other disks
}

// DismissRequest tells a member that an operator has it leave the grid.
type DismissRequest struct{}

// DismissResponse confirms that the member leaves.
type DismissResponse struct{}
