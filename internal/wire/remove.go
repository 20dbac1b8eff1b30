package wire

import "github.com/snowgrid/snowgrid/internal/roster"

// RemoveRequest requests, at any member, that a running or dead member be removed from the grid.
type RemoveRequest struct {
	Member roster.MemberID `json:"member"`
	Relay
}

// RemoveResponse is the outcome for the member.
type RemoveResponse struct {
	Member roster.MemberID `json:"member"`
	// Leaving is the incarnation that is leaving on request, "" if the member did not run and is removed.
	Leaving roster.Incarnation `json:"leaving,omitempty"`
	API     string             `json:"api,omitempty"` // Leaving's address
	Disks   int                `json:"disks"`         // partitions with definitions on its disk, besides other disks
}

// DismissRequest tells a member to leave the grid on an operator's request.
type DismissRequest struct{}

// DismissResponse confirms that the member leaves.
type DismissResponse struct{}
