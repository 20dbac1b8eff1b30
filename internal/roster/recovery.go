package roster

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Recovery records that a grid was formed from another grid's data directories, and the loss caused
// by missing directories. It never changes.
type Recovery struct {
	Old GridID           `json:"old"`   // the grid whose data was recovered
	At  clustertime.Tick `json:"at_ms"` // by the wall clock of the machine that recovered it
	// Lost lists the old grid's voters and disks that were given up, by ID.
	Lost []LostMember `json:"lost,omitempty"`
	// Forgotten lists the partitions with definitions in no directory. Their former names are lost,
	// and a name that is created with another epoch can repeat IDs.
	Forgotten []PartitionID `json:"forgotten,omitempty"`
	// Outdated lists the partitions for which no directory is certain to have every definition: the
	// latest names may be missing.
	Outdated []PartitionID `json:"outdated,omitempty"`
}

// LostMember is a member that a recovery gave up.
type LostMember struct {
	ID  MemberID `json:"id"`
	API string   `json:"api,omitempty"` // its address in the old roster, "" if unknown
}

// checkRecovery returns an [ErrInvalid] for a malformed recovery record, for a grid with this
// partition count. A nil record has no error.
func checkRecovery(r *Recovery, partitions int) error {
	if r == nil {
		return nil
	}
	if r.Old.IsZero() || r.At < 0 || r.At > clustertime.Latest {
		return invalidf("a recovery of grid %s at %d ms: give a grid ID, and a time from 1970 to 9999", r.Old, r.At)
	}
	for i, m := range r.Lost {
		if err := m.ID.Check(); err != nil {
			return err
		}
		if i > 0 && r.Lost[i-1].ID >= m.ID {
			return invalidf("lost member %s is a duplicate or out of order", m.ID)
		}
		if !spelling.IsPlain(m.API) {
			return invalidf("address %.40q of lost member %s must be at most %d bytes of UTF-8 without control characters",
				m.API, m.ID, spelling.MaxPlain)
		}
	}
	for _, ids := range [][]PartitionID{r.Forgotten, r.Outdated} {
		for i, id := range ids {
			if int(id) >= partitions || i > 0 && ids[i-1] >= id {
				return invalidf("recovered partition %d is out of order, or not from 0 to %d", id, partitions-1)
			}
		}
	}
	if slices.ContainsFunc(r.Forgotten, func(id PartitionID) bool { return slices.Contains(r.Outdated, id) }) {
		return invalidf("a recovered partition is both forgotten and outdated")
	}
	return nil
}
