package grid

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// A grid's settings are agreed when it is formed. A member that states others is
// refused: by a grid that it would join, by a founder that it would accept, and, here,
// by its own data directory, which knows them without another member.

// compareSettings refuses settings that differ from those of the grid that the data
// directory belongs to. A name that is not stated is taken from there, since members
// find each other by it.
func (m *Member) compareSettings() error {
	stored, found, err := m.stores.settings()
	if err != nil {
		return refusal.Invalid("DataDir: %s: %v", m.cfg.DataDir, err)
	}
	if !found {
		return nil
	}
	if m.cfg.unnamed {
		m.cfg.Name = stored.Name
	}
	return m.sameSettings(stored)
}

// sameSettings refuses settings of a grid that this member states otherwise.
func (m *Member) sameSettings(agreed roster.Settings) error {
	if err := agreed.Differs(m.cfg.stated()); err != nil {
		return refusal.Invalid("%v", err)
	}
	return nil
}

// settings returns the settings that the newest snapshot and the log have, if they
// have any.
func (s stores) settings() (out roster.Settings, found bool, err error) {
	taken, err := s.snaps.List()
	if err != nil {
		return out, false, err
	}
	for _, meta := range taken { // newest first; Raft goes back to an older one, too
		if r, err := readSnapshot(s.snaps, meta.ID); err == nil {
			out, found = r.Settings, r.Formed()
			break
		}
	}
	first, err := s.logs.FirstIndex()
	if err != nil {
		return out, false, err
	}
	last, err := s.logs.LastIndex()
	if err != nil || last == 0 {
		return out, found, err
	}
	for index := first; index <= last; index++ {
		var entry raft.Log
		if err := s.logs.GetLog(index, &entry); err != nil {
			return out, false, err
		}
		if entry.Type != raft.LogCommand {
			continue
		}
		c, err := wire.DecodeCommand(entry.Data)
		switch {
		case err != nil:
			return out, false, fmt.Errorf("entry %d of the roster's log is damaged, or of another version: %w", index, err)
		case c.Form != nil:
			out, found = c.Form.Settings, true
		case c.Change != nil:
			out.Window = max(out.Window, c.Change.Window)
		}
	}
	return out, found, nil
}

// readSnapshot returns the roster in a snapshot.
func readSnapshot(snaps raft.SnapshotStore, id string) (*roster.Roster, error) {
	_, from, err := snaps.Open(id)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(from)
	if err = errors.Join(err, from.Close()); err != nil {
		return nil, err
	}
	return wire.DecodeRoster(data)
}
