package gossip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/internal/bounded"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/signal"
)

const (
	// namesFile is in the data directory: members that were dead when all were stopped state no name again.
	namesFile = "names.json"
	// namesMax bounds the file in bytes; rememberedNames take a tenth.
	namesMax = 1 << 20
	// namesEvery is the interval at which new names are stored.
	namesEvery = time.Second
)

// storedNames are the members' names in a data directory. Names are for people: a file that cannot be read is left
// out, with a warning, and replaced.
type storedNames struct {
	dir    string // "" for none
	log    *slog.Logger
	stored uint64 // the changes of the names that this process has stored
}

func (s *storedNames) load() map[roster.Incarnation]string {
	if s.dir == "" {
		return nil
	}
	path := filepath.Join(s.dir, namesFile)
	names, err := readNames(path)
	if err != nil {
		s.log.Warn("stored names of members not read: members that are dead now have none", "path", path, "error", err)
	}
	return names
}

func readNames(path string) (names map[roster.Incarnation]string, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Size() > namesMax:
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), namesMax)
	}
	data, err := os.ReadFile(path) //nolint:gosec // in the data directory
	if err != nil {
		return nil, err
	}
	content, err := durable.Unseal(data)
	if err == nil {
		err = json.Unmarshal(content, &names)
	}
	if err != nil {
		return nil, err
	}
	for inc := range names {
		if err := inc.Check(); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// run stores g's names when there are new ones, until ctx ends.
func (s *storedNames) run(ctx context.Context, g *Gossip) {
	var calls bounded.Calls
	failed := ""
	for s.dir != "" && signal.Sleep(ctx, namesEvery) {
		g.mu.Lock()
		if g.renamed == s.stored {
			g.mu.Unlock()
			continue
		}
		renamed, names := g.renamed, maps.Clone(g.names)
		g.mu.Unlock()
		_, err := bounded.Do(ctx, &calls, "store names", func(context.Context) (struct{}, error) {
			data, err := durable.Seal(names)
			if err == nil {
				err = durable.Replace(filepath.Join(s.dir, namesFile), data, nil)
			}
			return struct{}{}, err
		})
		if err == nil {
			s.stored, failed = renamed, ""
		} else if failed != err.Error() && ctx.Err() == nil {
			failed = err.Error()
			s.log.Warn("names of members not stored", "error", err)
		}
	}
}
