package grid

import (
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// The exported structs have plain types, so that other modules can name them. This file converts
// internal types to them.

// Milliseconds is a duration in milliseconds.
type Milliseconds int64

// Duration returns the duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Settings are common to all members of a grid.
type Settings struct {
	Name       string       `json:"name"` // the grid's name
	Partitions int          `json:"partitions"`
	Backups    int          `json:"backups"`   // copies in addition to the owner's
	Window     Milliseconds `json:"window_ms"` // the distance from cluster time to the ceiling
	// Voters is how many members vote if there are enough; 0 is the default, see MostVoters.
	Voters int `json:"voters,omitempty"`
	// Expect is how many members are meant to run, 0 if it was never stated.
	Expect int `json:"expect,omitempty"`
}

// MostVoters returns how many members vote if there are enough.
func (s Settings) MostVoters() int { return roster.Settings{Voters: s.Voters}.MostVoters() }

func settingsOf(s roster.Settings) Settings {
	return Settings{Name: s.Name, Partitions: s.Partitions, Backups: s.Backups, Window: Milliseconds(s.Window),
		Voters: s.Voters, Expect: s.Expect}
}

// Release describes a member's release: its protocols, where 0 is 1, and its build.
type Release struct {
	Min   int    `json:"min,omitempty"`
	Max   int    `json:"max,omitempty"`
	Build string `json:"build,omitempty"` // a version or a commit
}

func releaseOf(r roster.Release) *Release {
	return &Release{Min: int(r.Min), Max: int(r.Max), Build: r.Build}
}

// Quota limits the sequencers that match a name pattern, and their holders. 0 is no limit. If several
// quotas match a name, the one with the most literal bytes applies alone.
type Quota struct {
	Pattern string `json:"pattern"`
	// Names limits the sequencers to which this quota applies.
	Names int `json:"names,omitempty"`
	// HolderNodes limits the logical nodes that one process has in one sequencer.
	HolderNodes int `json:"holder_nodes,omitempty"`
	// PeerNodes limits the logical nodes that all processes with one certificate or token, or, without
	// security, with one address, have in one sequencer.
	PeerNodes int `json:"peer_nodes,omitempty"`
	// Calls limits the calls per second about these sequencers that a member serves for one
	// certificate or token, or, without security, for one address.
	Calls int `json:"calls,omitempty"`
	// Used counts the sequencers to which the quota applies; nil if unknown.
	Used *int `json:"used,omitempty"`
}

func quotasOf(rows []wire.QuotaUse) []Quota {
	out := make([]Quota, len(rows))
	for i, q := range rows {
		out[i] = Quota{Pattern: string(q.Pattern), Names: q.Names, HolderNodes: q.HolderNodes, PeerNodes: q.PeerNodes,
			Calls: q.Calls, Used: q.Used}
	}
	return out
}

// RecoveryInfo records that a grid was formed from another grid's data directories, and the loss
// caused by missing directories. It never changes.
type RecoveryInfo struct {
	Old string `json:"old"`   // the recovered grid's ID
	At  int64  `json:"at_ms"` // Unix milliseconds, by the recovering machine's clock
	// Lost lists the old grid's voters and disks that were given up, by ID.
	Lost []LostMember `json:"lost,omitempty"`
	// Forgotten lists the partitions with definitions in no directory. Their former names are lost,
	// and a name that is created with another epoch can repeat IDs.
	Forgotten []int `json:"forgotten,omitempty"`
	// Outdated lists the partitions for which no directory is certain to have every definition: the
	// latest names may be missing.
	Outdated []int `json:"outdated,omitempty"`
}

// LostMember is a member that a recovery gave up.
type LostMember struct {
	ID  string `json:"id"`
	API string `json:"api,omitempty"` // its address in the old grid, "" if unknown
}

// recoveredOf converts a recovery record, nil for none.
func recoveredOf(r *roster.Recovery) *RecoveryInfo {
	if r == nil {
		return nil
	}
	out := &RecoveryInfo{Old: r.Old.String(), At: int64(r.At), Forgotten: partitionNumbers(r.Forgotten),
		Outdated: partitionNumbers(r.Outdated)}
	for _, m := range r.Lost {
		out.Lost = append(out.Lost, LostMember{ID: string(m.ID), API: m.API})
	}
	return out
}

func recoveryOf(p formation.RecoveryPlan) Recovery {
	r := Recovery{Members: texts(p.Members), Lost: texts(p.Lost), First: p.First, Forgotten: p.Forgotten,
		Outdated: p.Outdated, Repeated: p.Repeated}
	if !p.Old.IsZero() {
		r.Old = p.Old.String()
	}
	if !p.Grid.IsZero() {
		r.Grid = p.Grid.String()
	}
	return r
}

// texts converts a list to plain texts; nil stays nil.
func texts[T ~string](list []T) []string { return convert(list, func(t T) string { return string(t) }) }

// partitionNumbers converts a list to plain numbers; nil stays nil.
func partitionNumbers(list []roster.PartitionID) []int {
	return convert(list, func(id roster.PartitionID) int { return int(id) })
}

// ids converts plain texts; nil stays nil.
func ids[T ~string](list []string) []T { return convert(list, func(s string) T { return T(s) }) }

func convert[From, To any](list []From, one func(From) To) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = one(v)
	}
	return out
}
