package main

import (
	"context"
	"fmt"

	"github.com/snowgrid/snowgrid/grid"

	"github.com/snowgrid/snowgrid/roster"
)

// recoverCommand makes a grid of the data directories that are left of another one.
type recoverCommand struct {
	DataDir []string `help:"Data directory of a member that is left; once for each. Its agent must not run." required:"" placeholder:"DIR"`
	Lost    []string `help:"State of a member that it is gone for good: it does not run, and its directory does not come back. Once for each." placeholder:"ID"`
	statedFloor
}

// Help is the part of --help between the usage and the flags.
func (recoverCommand) Help() string {
	return `For a grid with data directories that lost the majority of its voters for good, disks and all. If the
directories are merely on machines that are down, start those: nothing else is needed then.

It works on directories and not on running members. Stop every member that is left, and run it where
their directories are; it needs no network. Directories on other machines can be copied here and back,
or left out: their members then start with empty directories, as new ones.

The members of the directories given become a new grid, in place. Its IDs begin above everything the old
one can have granted: a window, 5 s and 10 minutes above the latest ceiling and clock known here, so the
first ones wait for more than 10 minutes. Handles of before go on by themselves. It refuses members of the
old grid. What it prints at first is everything that it will do, and it asks nothing.

Every voter, and every member with a directory, whose directory is not given has to be named by --lost.
Without that nothing is done, and the error names them. Be sure: if they run, they go on as the old grid,
and both issue the same IDs. A run that was cut off is completed by the same command; until then no agent
starts on these directories.

    snowgrid recover --data-dir /var/lib/snowgrid
    snowgrid recover --data-dir /var/lib/snowgrid --lost 0123456789abcdef --lost 89abcdef01234567`
}

// Run recovers the grid.
func (c *recoverCommand) Run(_ context.Context, to streams) error {
	floor, err := c.floor()
	if err != nil {
		return err
	}
	cfg := grid.RecoverConfig{DataDirs: c.DataDir, Floor: floor}
	for _, id := range c.Lost {
		cfg.Lost = append(cfg.Lost, roster.MemberID(id))
	}
	cfg.Before = func(r grid.Recovery) {
		what := "recovering"
		if r.Repeated {
			what = "completing the recovery of"
		}
		fmt.Fprintf(to.out, "%s grid %v as grid %v\n", what, r.Old, r.Grid)
		for i, id := range r.Members {
			fmt.Fprintf(to.out, "member %s: %s\n", id, c.DataDir[i])
		}
		for _, id := range r.Lost {
			fmt.Fprintf(to.out, "given up: %s\n", id)
		}
		if r.Forgotten > 0 {
			fmt.Fprintf(to.out, "definitions lost in %d partitions: no directory given has them; a sequencer created there with another epoch can issue the same IDs again\n", r.Forgotten)
		}
		fmt.Fprintf(to.out, "its IDs begin at %s\n", moment(r.First))
	}
	if _, err := grid.Recover(cfg); err != nil {
		return err
	}
	fmt.Fprintln(to.out, "done: start these members; others join with empty data directories")
	return nil
}
