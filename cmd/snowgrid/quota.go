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

type quotaCommands struct {
	List   quotaListCommand   `cmd:"" default:"withargs" help:"List the quotas, and how much of each is used."`
	Set    quotaSetCommand    `cmd:"" help:"Set limits of the sequencers whose names match a pattern."`
	Remove quotaRemoveCommand `cmd:"" help:"Remove the quotas of patterns."`
}

type quotaListCommand struct{ gridOutput }

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
	return g.result(to.out, list, func(w io.Writer) {
		if len(list.Quotas) == 0 {
			fmt.Fprintln(w, "no quotas")
			return
		}
		writeQuotas(w, list.Quotas)
	})
}

func writeQuotas(table io.Writer, quotas []grid.Quota) {
	fmt.Fprint(table, "QUOTA OF\tNAMES\tUSED\tHOLDER NODES\tPEER NODES\tCALLS/S\n")
	for _, q := range quotas {
		used := "-"
		if q.Used != nil {
			used = strconv.Itoa(*q.Used)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", short(shown(q.Pattern), nameWidth), orNoNumber(q.Names), used,
			orNoNumber(q.HolderNodes), orNoNumber(q.PeerNodes), orNoNumber(q.Calls))
	}
}

// orNoNumber formats a number, "-" for 0, which is none.
func orNoNumber[N int | uint64](n N) string { return orNone(unless(n == 0, fmt.Sprint(n))) }
