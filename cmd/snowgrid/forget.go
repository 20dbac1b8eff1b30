package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/roster"
	"github.com/snowgrid/snowgrid/wire"
)

// forgetCommand gives up the disk of a member that is gone for good.
type forgetCommand struct {
	Member          string `arg:"" help:"Member ID, 16 hex digits, as snowgrid status shows it."`
	LoseDefinitions bool   `help:"Give the disk up even where no other has the definitions: sequencers that no process holds are forgotten there, and one created with another epoch or node count can issue the same IDs again."`
	gridFlags
}

// Help is the part of --help between the usage and the flags.
func (forgetCommand) Help() string {
	return `Members with a data directory keep the definitions of sequencers on disk: names, epochs, node counts,
and which were destroyed. The grid knows whose disks have all of them. When every copy of a partition is
lost at once, creates, opens and destroys in it wait until one of those members is back, while handles
go on. snowgrid status lists the disks, and how many partitions wait for each.

Start such a member again, with its data directory: that ends the wait and loses nothing. Only when its
disk is gone for good, give it up with this command. While other disks have the same definitions, nothing
is lost. Where it is the last one, the command refuses and says so; --lose-definitions gives it up all the
same, and the partition begins with what holders of its sequencers show.

It is refused while the member runs. A member whose disk was given up starts again with an empty data
directory, as a new member. The leader logs who asked, and what was given up.

    snowgrid status --addr 10.0.0.1:7948
    snowgrid forget 9f3c5a7de1b20468 --addr 10.0.0.1:7948`
}

// Run has the grid give the disk up.
func (c *forgetCommand) Run(ctx context.Context, to streams) error {
	member, _, _ := strings.Cut(c.Member, "-") // an incarnation will do
	in := wire.ForgetRequest{Member: roster.MemberID(member), LoseDefinitions: c.LoseDefinitions}
	var out wire.ForgetResponse
	err := c.ask(ctx, func(ctx context.Context) error {
		status, addr, err := fetchStatusOfAny(ctx, c.Addr)
		if err != nil {
			return err
		}
		return postTo(ctx, addr, status.Answering, wire.PathForget, in, &out)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(to.out, "the disk of %s was forgotten: %d partitions depended on it, %s\n", member, out.Partitions, lostText(out.Lost))
	return nil
}

// lostText says how many partitions lost their definitions.
func lostText(lost int) string {
	if lost == 0 {
		return "each of which has another disk"
	}
	return fmt.Sprintf("%d of which had no other: their definitions are lost", lost)
}
