package wire

import (
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// QuotaUse is a quota row and its current use.
type QuotaUse struct {
	roster.Quota

	// Used is the number of sequencers that the row counts, nil if omitted.
	Used *int `json:"used,omitempty"`
}

// QuotasOf returns rows without their use.
func QuotasOf(rows []roster.Quota) []QuotaUse {
	out := make([]QuotaUse, len(rows))
	for i, q := range rows {
		out[i].Quota = q
	}
	return out
}

// PathCount is the call between members that counts the sequencers that each owns.
const PathCount = "/v1/member/count"

// CountRequest requests the sequencer counts.
type CountRequest struct{}

// CountResponse counts the sequencers in partitions owned by the member: per quota row in the roster
// version, and in total.
type CountResponse struct {
	Version roster.Version `json:"version"`
	Rows    []RowCount     `json:"rows,omitempty"`
	Names   int            `json:"names"`
	// Partitions are those that the member owns and has counted.
	Partitions []roster.PartitionID `json:"partitions,omitempty"`
}

// RowCount is the number of sequencers that a row counts.
type RowCount struct {
	Pattern spelling.Pattern `json:"pattern"`
	Names   int              `json:"names"`
	Begun   int              `json:"begun,omitempty"` // of Names: creates in progress
}
