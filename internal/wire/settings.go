package wire

import (
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// PathSettings reads and changes the grid's settings. Any member serves it; changes are forwarded to
// the leader.
const PathSettings = "/v1/settings"

// SettingsRequest has new values for settings; omitted ones stay. An empty request reads the
// current values.
type SettingsRequest struct {
	Backups *int             `json:"backups,omitempty"`
	Window  clustertime.Span `json:"window_ms,omitempty"`
	Voters  int              `json:"voters,omitempty"`
	Expect  int              `json:"expect,omitempty"`
	// WindowStated confirms that the configuration of every member has the window, in a
	// grid with neither disks nor an anchor.
	WindowStated bool `json:"window_stated,omitempty"`
	// Quotas set limits in rows, by pattern; DropQuotas lists the patterns of rows to remove.
	Quotas     []roster.QuotaEdit `json:"quotas,omitempty"`
	DropQuotas []spelling.Pattern `json:"drop_quotas,omitempty"`
	roster.Upcoming
	Relay
}

// IsEmpty reports whether a request changes nothing.
func (r SettingsRequest) IsEmpty() bool {
	return r.Backups == nil && r.Window == 0 && r.Voters == 0 && r.Expect == 0 && !r.EditsQuotas() &&
		r.Upcoming == (roster.Upcoming{})
}

// EditsQuotas reports whether a request changes quotas.
func (r SettingsRequest) EditsQuotas() bool { return len(r.Quotas)+len(r.DropQuotas) > 0 }

// SettingsResponse has the grid's settings.
type SettingsResponse struct {
	Name       string           `json:"name"`
	Partitions int              `json:"partitions"`
	Backups    int              `json:"backups"`
	Window     clustertime.Span `json:"window_ms"`
	Voters     int              `json:"voters"`
	Expect     int              `json:"expect,omitempty"` // members that are meant to run, 0 if not stated
	// Quotas are all rows, by pattern.
	Quotas  []QuotaUse     `json:"quotas"`
	Version roster.Version `json:"version"` // the roster version that they are from
}

// SettingsOf returns a roster's settings.
func SettingsOf(r *roster.Roster) SettingsResponse {
	s := r.Settings
	return SettingsResponse{
		Name: s.Name, Partitions: s.Partitions, Backups: s.Backups, Window: s.Window, Voters: s.MostVoters(),
		Expect: s.Expect, Version: r.Version, Quotas: QuotasOf(r.Quotas),
	}
}
