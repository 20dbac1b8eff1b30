package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// recoverCommand forms a new grid from the remaining data directories of another one.
type recoverCommand struct {
	DataDir []string `help:"Data directory of a remaining member; repeat for each. Its agent must be stopped." required:"" placeholder:"DIR"`
	Lost    []string `help:"Assert that this member is gone for good: it does not run, and its directory is lost. Repeat for each." placeholder:"ID"`
	statedFloor
	outputFlag
}

type recovered struct {
	Old       string            `json:"old"`
	Grid      string            `json:"grid"`
	Members   map[string]string `json:"members"` // directory of each, by member ID
	Lost      []string          `json:"lost"`
	First     time.Time         `json:"first"`     // where its IDs begin
	Forgotten int               `json:"forgotten"` // partitions with lost definitions
	Outdated  int               `json:"outdated"`  // partitions that may have lost their latest definitions
	Repeated  bool              `json:"repeated"`  // an interrupted recovery was completed
}

func (c *recoverCommand) Run(_ context.Context, to streams) error {
	floor, err := c.floor()
	if err != nil {
		return err
	}
	cfg := grid.RecoverConfig{DataDirs: c.DataDir, Lost: c.Lost, Floor: floor,
		Logger: slog.New(slog.NewTextHandler(to.err, nil))}
	if !c.json() {
		cfg.Before = func(r grid.Recovery) { c.describe(to.out, r) }
	}
	r, err := grid.Recover(cfg)
	if err != nil {
		return err
	}
	result := recovered{
		Old: r.Old, Grid: r.Grid, Members: map[string]string{}, Lost: append([]string{}, r.Lost...), First: r.First,
		Forgotten: r.Forgotten, Outdated: r.Outdated, Repeated: r.Repeated,
	}
	for i, id := range r.Members {
		result.Members[id] = c.DataDir[i]
	}
	return c.line(to.out, result, "done: start these members; other members join with empty data directories")
}

// describe writes the actions of a recovery before they are done.
func (c *recoverCommand) describe(w io.Writer, r grid.Recovery) {
	action := "recovering"
	if r.Repeated {
		action = "completing the recovery of"
	}
	fmt.Fprintf(w, "%s grid %v as grid %v\n", action, r.Old, r.Grid)
	for i, id := range r.Members {
		fmt.Fprintf(w, "member %s: %s\n", id, c.DataDir[i])
	}
	for _, id := range r.Lost {
		fmt.Fprintf(w, "lost: %s\n", id)
	}
	if r.Forgotten > 0 {
		fmt.Fprintf(w,
			"definitions lost in %s: no given directory has them; a sequencer created there with another epoch can repeat IDs\n",
			counted(r.Forgotten, "partition"))
	}
	if r.Outdated > 0 {
		fmt.Fprintf(w, "latest definitions in %s may be lost: no given directory is certain to have all of them\n",
			counted(r.Outdated, "partition"))
	}
	fmt.Fprintf(w, "its IDs begin at %s\n", momentAndDistance(r.First, time.Now()))
}
