package grid

import (
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
)

// A grid's settings are agreed when it is formed. A member that states others is
// refused: by a grid that it would join, by a bootstrap member that it would accept, and, here,
// by its own data directory, which knows them without another member.

// compareSettings refuses settings that differ from those of the grid that the data
// directory belongs to. A name that is not stated is taken from there, since members
// find each other by it.
func (m *Member) compareSettings() error {
	stored, found, err := m.stores.Settings()
	if err != nil {
		return refusal.Invalid("DataDir: %s: %v", m.cfg.DataDir, err)
	}
	if !found {
		return nil
	}
	if m.cfg.unnamed {
		m.cfg.Name = stored.Name
	}
	return formation.SameSettings(stored, m.cfg.stated())
}
