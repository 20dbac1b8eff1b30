package formation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowgrid/snowgrid/grid/internal/definitions"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// A member's identity and its definitions share a directory, and each validates the other: a member
// that returned without its definitions would present an empty disk although the roster lists it as
// complete (D9).

// checkDefinitionsOwned refuses a data directory with definitions but no identity. It must be called
// before a new identity is stored.
func checkDefinitionsOwned(id *Identity) error {
	if _, err := os.Lstat(filepath.Join(id.dir, definitions.File)); !id.isNew || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return refusal.Invalid("DataDir: %s is missing next to %s, so this disk has no member identity; "+
		"restore both, or run `snowgrid forget MEMBER` at another member and start with an empty directory as a new member",
		filepath.Join(id.dir, identityFile), definitions.File)
}

// openDefinitions opens a member's definitions, and creates the file for a member that was never in a
// grid.
func openDefinitions(id *Identity) (*definitions.Store, error) {
	store, err := definitions.Open(id.dir, id.Member)
	if errors.Is(err, fs.ErrNotExist) && id.Grid.IsZero() {
		if err := definitions.Create(id.dir, id.Member); err != nil {
			return nil, refusal.Invalid("DataDir: %v", err)
		}
		store, err = definitions.Open(id.dir, id.Member)
	}
	switch {
	case errors.Is(err, definitions.ErrUnusable):
		return nil, refusal.Invalid("DataDir: %v; member %s's definitions are lost with it. If you cannot restore the last "+
			"copy of this directory:  run `snowgrid forget %s` at another member, then start with an empty directory as a new "+
			"member", err, id.Member, id.Member)
	case err != nil:
		return nil, refusal.Invalid("DataDir: %v", err)
	}
	if grid := store.Grid(); !grid.IsZero() && grid != id.Grid {
		_ = store.Close()
		return nil,
			refusal.Invalid("DataDir: %s belongs to grid %s, but %s next to it belongs to grid %s; restore the files that "+
				"belong together",
				filepath.Join(id.dir, definitions.File), grid, identityFile, gridName(id.Grid))
	}
	return store, nil
}

func gridName(g roster.GridID) string {
	if g.IsZero() {
		return "none"
	}
	return g.String()
}
