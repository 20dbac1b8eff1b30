package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

type holdersCommand struct {
	Name  string `arg:"" help:"Name of the sequencer."`
	After int    `help:"Begin with the first logical node above this one." default:"-1" placeholder:"NODE"`
	Limit int    `help:"Number of logical nodes; 0 for all." default:"100"`
	gridOutput
}

func (c *holdersCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit=%d: give 1 or more, or 0 for all", c.Limit)
	}
	return nil
}

func (c *holdersCommand) Run(ctx context.Context, to streams) error {
	list, err := asked(ctx, c.gridFlags, c.fetch)
	if err != nil {
		return asking(err)
	}
	return c.result(to.out, list, func(w io.Writer) { printHolders(w, list) })
}

// fetch gets as many pages as there are to list.
func (c *holdersCommand) fetch(ctx context.Context) (list wire.HoldersResponse, err error) {
	in, addrs := wire.HoldersRequest{Name: c.Name, After: &c.After}, c.Addr
	rows := []wire.HolderRow{}
	for {
		in.Limit = pageOf(c.Limit, len(rows))
		if addrs, err = fetchPage(ctx, addrs, wire.PathHolders, in, &list); err != nil {
			return list, err
		}
		rows = append(rows, list.Holders...)
		if !list.More || len(list.Holders) == 0 || c.Limit > 0 && len(rows) >= c.Limit {
			list.Holders = rows
			return list, nil
		}
		in.After = new(int(rows[len(rows)-1].Node))
	}
}

func printHolders(w io.Writer, list wire.HoldersResponse) {
	fmt.Fprintf(w, "sequencer %s: %d of %d logical nodes attached, owner %s\n", list.Sequencer, list.Attached, list.Nodes,
		called(list.OwnerName, list.Owner))
	if len(list.Holders) == 0 {
		return
	}
	fmt.Fprint(w, "\nNODE\tHOLDER\tRENEWED\tADDRESS\tBUILD\tLABELS\n")
	for _, h := range list.Holders {
		renewed := "-"
		if h.Holder != "" {
			renewed = span(time.Duration(h.Shown)*time.Millisecond) + " ago"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", h.Node, orNone(string(h.Holder.Short())), renewed, orNone(h.Addr),
			orNone(short(h.Build, 12)), orNone(labels(h.Labels)))
	}
	if list.More {
		fmt.Fprintf(w, "\nthere are more: --after %d\n", list.Holders[len(list.Holders)-1].Node)
	}
}

// labels formats a holder's labels by their names.
func labels(of map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		out = append(out, key+"="+of[key])
	}
	return strings.Join(out, " ")
}
