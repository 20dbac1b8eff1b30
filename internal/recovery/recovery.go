// Package recovery decides the initial state of a grid that replaces a grid with a permanently lost
// majority of voters. The input is the remaining data directories ([FromDisks]) or the remaining
// members ([FromMemory]). Either grid starts above everything that the lost members can have
// granted.
//
// It reads no files and calls no members. Package grid does, and so does the simulation in
// proof/sim.
package recovery

import (
	"slices"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// VersionsApart separates a recovered grid's versions from the old grid's latest recorded version,
// because the old grid may have had later ones.
const VersionsApart = 1 << 20

// Directory describes a member's data directory.
type Directory struct {
	Member      roster.MemberID
	Roster      *roster.Roster // after the last log entry, committed or not
	Servers     []leader.Server
	Term, Index uint64 // its last log entry
	// Definitions has the position of each stored table.
	Definitions map[roster.PartitionID]backup.Position
}

// Disks lists the directories for a recovery.
type Disks struct {
	Directories []Directory
	Old, Grid   roster.GridID
	Lost        []roster.MemberID // the old grid's voters and disks without a directory
	Floor, Now  clustertime.Tick  // Floor 0 means unset
	// Incarnation returns a new incarnation for a member; the old roster does not have it.
	Incarnation func(roster.MemberID) roster.Incarnation
}

// Decision is a recovered grid's initial state.
type Decision struct {
	Members  []roster.Member // in the order of the directories
	Servers  []leader.Server // for Members, in their order
	Commands []roster.Command
	Roster   *roster.Roster   // after the commands
	First    clustertime.Tick // the start of grants
}

// Newest returns the index of the directory with the longest log.
func Newest(dirs []Directory) int {
	newest := 0
	for i, d := range dirs {
		if n := dirs[newest]; d.Term > n.Term || d.Term == n.Term && d.Index > n.Index {
			newest = i
		}
	}
	return newest
}

// Votes returns the number of voters in a directory's log, and how many of them have a given
// directory. A process that voted without a directory counts as a separate server.
func (d Directory) Votes(given func(roster.MemberID) bool) (alive, voters int) {
	for _, s := range d.Servers {
		if !s.Voter {
			continue
		}
		voters++
		if given(roster.Incarnation(s.ID).Member()) && s.ID.IsDurable() {
			alive++
		}
	}
	return alive, voters
}

// FromDisks decides how a grid continues from some directories. Their members form the new grid,
// and the first ones vote. Every partition is lost, with the disks that have its definitions. An
// anchored grid's roster stays anchored and accepts no command before a member has taken the
// anchor; the reset then loses every partition.
func FromDisks(in Disks) (Decision, error) {
	old := in.Directories[Newest(in.Directories)].Roster
	bounds := []clustertime.Bound{{Wall: in.Now}}
	for _, d := range in.Directories {
		bounds = append(bounds, clustertime.Bound{Ceiling: d.Roster.Ceiling, Time: d.Roster.Time,
			Window: d.Roster.Settings.Window})
	}
	d := Decision{First: clustertime.Recovered(bounds, in.Floor)}
	record := &roster.Recovery{Old: in.Old, At: in.Now, Lost: lostMembers(in.Lost, old)}
	form := roster.Form{
		Grid: in.Grid, Settings: old.Settings, Ceiling: d.First, Version: old.Version + VersionsApart, Durable: true,
		Disks:    latest(in.Directories, old, record),
		Anchored: old.Anchored, Registry: old.Registry, Quotas: old.Quotas, Recovered: record,
	}
	change := roster.Change{}
	for i, dir := range in.Directories {
		member := memberOf(dir.Member, old, in.Incarnation)
		change.Join = append(change.Join, member)
		d.Servers = append(d.Servers, leader.Server{
			ID:    leader.ServerOf(member.Incarnation, true),
			Voter: i < leader.VotersFor(len(in.Directories), old.Settings.MostVoters()),
		})
	}
	for id := range old.Partitions {
		owner := change.Join[id%len(change.Join)].Incarnation
		change.Lose = append(change.Lose, roster.Loss{Partition: roster.PartitionID(id), Owner: owner})
	}
	d.Members, d.Commands = change.Join, []roster.Command{{Form: &form}}
	if !form.Anchored {
		d.Commands = append(d.Commands, roster.Command{From: form.Version, Change: &change})
	}
	d.Roster = &roster.Roster{}
	for _, c := range d.Commands {
		var err error
		if d.Roster, err = d.Roster.Apply(c); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

// memberOf returns a member's record in the old roster, or a new one.
func memberOf(id roster.MemberID, old *roster.Roster,
	incarnation func(roster.MemberID) roster.Incarnation) roster.Member {
	for _, m := range old.Members {
		if m.Incarnation.Member() == id && m.Durable {
			return m
		}
	}
	return roster.Member{Incarnation: incarnation(id), Durable: true}
}

// lostMembers returns the lost members' records, in order.
func lostMembers(lost []roster.MemberID, old *roster.Roster) (out []roster.LostMember) {
	for _, id := range lost {
		m := roster.LostMember{ID: id}
		for _, known := range old.Members {
			if known.Incarnation.Member() == id {
				m.API = known.API
			}
		}
		out = append(out, m)
	}
	return out
}

// latest returns, for each partition, the members with the overall latest definitions on disk. It
// records the partitions that have none although a member's disk has, or had, them, and partitions
// with possibly later definitions on a missing disk.
//
// The old roster's latest versions, and so the disks that it names, may be lost with the majority.
// But every stored table is complete, and a table at a later position has every name acknowledged
// at an earlier one.
func latest(dirs []Directory, old *roster.Roster, record *roster.Recovery) (disks [][]roster.MemberID) {
	disks = make([][]roster.MemberID, len(old.Partitions))
	for i, p := range old.Partitions {
		id := roster.PartitionID(i)
		var latest backup.Position
		complete := false // a directory is given for a disk that the old roster names
		for _, d := range dirs {
			at, found := d.Definitions[id]
			complete = complete || found && slices.Contains(p.Disk, d.Member)
			switch c := at.Compare(latest); {
			case !found || c < 0:
			case c > 0:
				latest, disks[i] = at, []roster.MemberID{d.Member}
			default:
				disks[i] = append(disks[i], d.Member)
			}
		}
		slices.Sort(disks[i])
		switch {
		case len(p.Disk) == 0 || complete:
		case len(disks[i]) == 0:
			record.Forgotten = append(record.Forgotten, id)
		default:
			record.Outdated = append(record.Outdated, id)
		}
	}
	return disks
}
