package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// quotaCommands are about limits for holders.
type quotaCommands struct {
	List   quotaListCommand   `cmd:"" default:"withargs" help:"List the quotas, and how much of each is used."`
	Set    quotaSetCommand    `cmd:"" help:"Set limits of the sequencers whose names match a pattern."`
	Remove quotaRemoveCommand `cmd:"" help:"Remove the quotas of patterns."`
}

func (quotaCommands) Help() string {
	return `A quota has a pattern of sequencers' names, in which * stands for any bytes, and up to four limits. Of the quotas that
match a name the one with the most bytes other than * counts, and no other, also where it sets no limit.

    names         sequencers for which the quota counts, in the whole grid
    holder-nodes  logical nodes of one sequencer that one process has
    peer-nodes    logical nodes of one sequencer that all processes of one certificate or token have together;
                  without security, of one address
    calls         calls per second about such sequencers that one member serves for one certificate or token, or
                  address; renewals are free

Without a quota, a process that has proved who it is gets 1024 logical nodes of a sequencer, and a certificate or
token half of them, but at least 256. Members and their own handles are limited by names and holder-nodes alone.

What there is already stays when a limit is lowered. After a change of owner the nodes of processes are counted
in full when all have renewed, within a window. Creates that reach several owners at the same time can pass the
limit of names by those that are in progress. Every member has to run a release that has quotas; the error
names the members that do not.`
}

type quotaListCommand struct{ gridOutput }

func (quotaListCommand) Help() string {
	return `USED is the number of sequencers for which the quota counts, - if an owner has not answered.

    snowgrid quota list --addr 10.0.0.1:7948`
}

// quotaList is the result as JSON.
type quotaList struct {
	Quotas []grid.Quota `json:"quotas"`
}

func (c *quotaListCommand) Run(ctx context.Context, to streams) error {
	return asking(c.quotas(ctx, to, wire.SettingsRequest{}))
}

type quotaSetCommand struct {
	Pattern     string `arg:"" help:"Pattern of names, such as 'orders-*'."`
	Names       *int   `help:"Most sequencers; 0 for no limit." placeholder:"COUNT"`
	HolderNodes *int   `help:"Most logical nodes of one sequencer for one process; 0 for no limit." placeholder:"COUNT"`
	PeerNodes   *int   `help:"Most logical nodes of one sequencer for one certificate, token or address; 0 for no limit." placeholder:"COUNT"`
	Calls       *int   `help:"Most calls per second at one member for one certificate, token or address; 0 for no limit." placeholder:"COUNT"`
	gridOutput
}

func (quotaSetCommand) Help() string {
	return `Limits that are not given stay as they are. Any member takes the command; the leader has it agreed on by all.

    snowgrid quota set 'orders-*' --names 100 --calls 50
    snowgrid quota set '*' --peer-nodes 512
    snowgrid quota set orders --peer-nodes 8192  # for each certificate
    snowgrid quota set 'batch-*' --calls 0  # no limit, where '*' has one`
}

func (c *quotaSetCommand) Run(ctx context.Context, to streams) error {
	edit := roster.QuotaEdit{Pattern: spelling.Pattern(c.Pattern), Names: c.Names, HolderNodes: c.HolderNodes,
		PeerNodes: c.PeerNodes, Calls: c.Calls}
	err := edit.Of(roster.Quota{}).Check()
	if err == nil && c.Names == nil && c.HolderNodes == nil && c.PeerNodes == nil && c.Calls == nil {
		err = errors.New("give one of --names, --holder-nodes, --peer-nodes and --calls; 0 means without limit")
	}
	if err != nil {
		return usage(err)
	}
	return c.quotas(ctx, to, wire.SettingsRequest{Quotas: []roster.QuotaEdit{edit}})
}

type quotaRemoveCommand struct {
	Patterns []string `arg:"" name:"pattern" help:"Patterns, as they are listed."`
	gridOutput
}

func (quotaRemoveCommand) Help() string {
	return `A minute after the last quota is gone, members may be taken back to the release before quotas.

    snowgrid quota remove 'orders-*'`
}

func (c *quotaRemoveCommand) Run(ctx context.Context, to streams) error {
	var in wire.SettingsRequest
	for _, p := range c.Patterns {
		in.DropQuotas = append(in.DropQuotas, spelling.Pattern(p))
	}
	return c.quotas(ctx, to, in)
}

// quotas requests settings, and writes the quotas in the answer.
func (g gridOutput) quotas(ctx context.Context, to streams, in wire.SettingsRequest) error {
	s, err := g.settings(ctx, in)
	if err != nil {
		return err
	}
	list := quotaList{Quotas: []grid.Quota{}}
	for _, q := range s.Quotas {
		list.Quotas = append(list.Quotas, grid.Quota{Pattern: string(q.Pattern), Names: q.Names,
			HolderNodes: q.HolderNodes, PeerNodes: q.PeerNodes, Calls: q.Calls, Used: q.Used})
	}
	return g.result(to.out, list, func(w io.Writer) error {
		if len(list.Quotas) == 0 {
			_, err := fmt.Fprintln(w, "no quotas")
			return err
		}
		table := newTable(w)
		writeQuotas(table, list.Quotas)
		return table.Flush()
	})
}

func writeQuotas(table io.Writer, quotas []grid.Quota) {
	fmt.Fprint(table, "QUOTA OF\tNAMES\tUSED\tHOLDER NODES\tPEER NODES\tCALLS/S\n")
	for _, q := range quotas {
		used := "-"
		if q.Used != nil {
			used = strconv.Itoa(*q.Used)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", short(shown(q.Pattern), nameWidth), limitText(q.Names), used,
			limitText(q.HolderNodes), limitText(q.PeerNodes), limitText(q.Calls))
	}
}

// limitText formats a limit, "-" for none.
func limitText(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
