package wire

import (
	"github.com/snowgrid/snowgrid/partition"
)

// HelloRequest asks a member who it is and what its wall clock shows.
type HelloRequest struct{}

// HelloResponse is a member's own view.
type HelloResponse struct {
	Incarnation partition.Incarnation `json:"incarnation"`
	Grid        partition.GridID      `json:"grid"` // zero: not formed yet
	Version     partition.Version     `json:"version"`
	Founding    partition.GridID      `json:"founding"` // the grid it tries to form, zero: none
	Settings    partition.Settings    `json:"settings"`
	Leader      string                `json:"leader"` // Raft server ID, "" while unknown
	Wall        partition.Tick        `json:"wall"`   // the member's wall clock
	Time        partition.Tick        `json:"time"`   // cluster time as it knows it, 0 = not at all
}

// AcceptRequest asks a member without grid to be formed into one.
type AcceptRequest struct {
	Founder  partition.MemberID `json:"founder"`
	Grid     partition.GridID   `json:"grid"`
	Settings partition.Settings `json:"settings"`
}

// AcceptResponse names who accepted, which is counted once however often it says so.
type AcceptResponse struct {
	Member  partition.MemberID `json:"member"`
	Durable bool               `json:"durable"`
}

// JoinRequest asks the leader to make a member part of the grid.
type JoinRequest struct {
	Member partition.Member `json:"member"`
	Server string           `json:"server"` // Raft server ID
}

// LeaveRequest asks the leader to take a member out of the grid.
type LeaveRequest struct {
	Incarnation partition.Incarnation `json:"incarnation"`
	Server      string                `json:"server"`
}

// EarlierRequest tells the leader that a holder has shown a grant of an earlier
// life of the grid, which ends at Until.
type EarlierRequest struct {
	Until partition.Tick `json:"until"`
}

// MemberResponse answers a join, a leave or an earlier grant; Version is the roster's newest.
type MemberResponse struct {
	Version partition.Version `json:"version"`
}
