package main

import (
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
)

// storageFlags place the member's data on its disk.
type storageFlags struct {
	DataDir string `help:"Directory for identity, Raft log and definitions. Default: none, memory only." env:"SNOWGRID_DATA_DIR" placeholder:"DIR"`
}

func (f *storageFlags) apply(cfg *grid.Config) error {
	cfg.DataDir = f.DataDir
	return nil
}

// anchorFlags name the store outside the grid that limits its ceiling.
type anchorFlags struct {
	Anchor      string        `help:"Store of the record that limits the grid's ceiling, for all members the same: file:DIR. Lives of the grid that know nothing of each other wait for one another then. Default: none." env:"SNOWGRID_ANCHOR" placeholder:"file:DIR"`
	AnchorAhead time.Duration `help:"Distance of the anchor's limit ahead of cluster time. Default: 30s, or two windows." env:"SNOWGRID_ANCHOR_AHEAD" placeholder:"DURATION"`

	// open opens a store's directory, nil for store.OpenFile.
	open func(dir string) (store.Store, error)
}

func (f *anchorFlags) apply(cfg *grid.Config) (err error) {
	if cfg.Anchor, err = f.anchor(); err != nil {
		return err
	}
	cfg.AnchorAhead = f.AnchorAhead
	return nil
}

// anchor opens the anchor's store, nil for none.
func (f *anchorFlags) anchor() (store.Store, error) {
	dir, isFile := strings.CutPrefix(f.Anchor, "file:")
	switch {
	case f.Anchor == "":
		return nil, nil
	case !isFile || dir == "":
		return nil, badValue("anchor", f.Anchor,
			"give file:DIR; other stores are set by a program that embeds a member (grid.Config.Anchor)")
	}
	open := f.open
	if open == nil {
		open = func(dir string) (store.Store, error) { return store.OpenFile(dir) }
	}
	s, err := open(dir)
	if err != nil {
		return nil, badValue("anchor", f.Anchor, "%s", sentence(err))
	}
	return s, nil
}
