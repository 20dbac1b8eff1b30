package wire

import (
	"github.com/snowgrid/snowgrid/internal/roster"
)

// ForgetRequest requests, at any member, that a member's disk be given up permanently.
type ForgetRequest struct {
	Member roster.MemberID `json:"member"`
	// LoseDefinitions confirms that definitions are lost in partitions without another named disk.
	LoseDefinitions bool `json:"lose_definitions,omitempty"`
	Relay
}

// TakeRequest requests, at any member, that the leader take the grid's anchor record from any other
// grid.
type TakeRequest struct {
	Relay
}

// ForgetResponse counts the partitions that depended on the disk.
type ForgetResponse struct {
	Partitions int            `json:"partitions"` // that rested on the disk
	Lost       int            `json:"lost"`       // the ones without another disk
	Version    roster.Version `json:"version"`    // the roster's version with this change
}

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
