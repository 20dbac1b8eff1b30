package grid

import (
	"fmt"

	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A grid's settings are agreed when it is formed. A member with other settings is rejected: by a
// grid that it would join, by a bootstrap member that it would accept, and, here, by its own data
// directory, which has them without another member.

// compareSettings rejects settings that differ from the settings of the data directory's grid. An
// unset name is taken from there, since members find each other by it.
func (m *Member) compareSettings() error {
	known, err := m.stores.Known()
	if err != nil {
		return refusal.Invalid("DataDir: %s: %v", m.cfg.DataDir, err)
	}
	if !known.Formed() {
		return nil
	}
	if err := clustertime.CheckClockAfter(clustertime.TickOf(m.cfg.Clock.Now()), known.Time); err != nil {
		return fmt.Errorf("grid: %w", err)
	}
	stored := known.Settings
	if m.cfg.unnamed {
		if of := m.creds.grid(); of != "" && of != stored.Name {
			return refusal.Invalid("DataDir: %s belongs to grid %q, but the certificate to grid %q; give the member a "+
				"directory and a certificate for the same grid", m.cfg.DataDir, stored.Name, of)
		}
		m.cfg.Name = stored.Name
	}
	stated := m.cfg.stated()
	err = formation.SameSettings(stored, stated)
	stated.Backups, stated.Window, stated.Voters = roster.UnsetBackups, 0, 0 // a running grid can change these
	if err != nil && formation.SameSettings(stored, stated) == nil {
		err = refusal.Invalid("%v. The grid's value is from the data directory; if it was changed while this member was "+
			"down, omit the setting for one start", err)
	}
	return err
}
