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

// A member's identity and its definitions are in one directory, and each proves the
// other: a member that came back without its definitions would show an empty disk for
// one that is named in the roster as having everything (D9).

// checkDefinitionsOwned refuses a data directory with definitions whose member is
// unknown. It has to be called before a new identity is kept.
func checkDefinitionsOwned(id *Identity) error {
	if _, err := os.Lstat(filepath.Join(id.dir, definitions.File)); !id.isNew || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return refusal.Invalid("DataDir: %s is missing beside %s, so this disk belongs to no member; "+
		"restore both, or run `snowgrid forget MEMBER` on the rest of the grid and start with an empty directory as a new member",
		filepath.Join(id.dir, IdentityFile), definitions.File)
}

// openDefinitions opens the definitions of a member, and makes the file of one that was
// never in a grid.
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
		return nil, lostDisk(id.Member, err)
	case err != nil:
		return nil, refusal.Invalid("DataDir: %v", err)
	}
	if grid := store.Grid(); !grid.IsZero() && grid != id.Grid {
		_ = store.Close()
		return nil, refusal.Invalid("DataDir: %s is of grid %s and %s beside it is of grid %s; put back the files that belong together",
			filepath.Join(id.dir, definitions.File), grid, IdentityFile, gridName(id.Grid))
	}
	return store, nil
}

// lostDisk is why a member whose definitions are lost does not start.
func lostDisk(member roster.MemberID, err error) error {
	return refusal.Invalid("DataDir: %v; the definitions that member %s had are lost with it. If no copy of this directory as it was last can be restored: "+
		"run `snowgrid forget %s` on the rest of the grid, then start with an empty directory as a new member", err, member, member)
}

// gridName returns a grid's ID for people.
func gridName(g roster.GridID) string {
	if g.IsZero() {
		return "none"
	}
	return g.String()
}
