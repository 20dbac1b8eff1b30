package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

type sequencersCommands struct {
	List   sequencersCommand       `cmd:"" default:"withargs" help:"List the sequencers of a grid."`
	Remove removeSequencersCommand `cmd:"" help:"Destroy the sequencers that were not used for a time."`
}

type sequencersCommand struct {
	Prefix string `help:"Only sequencers whose names begin so." placeholder:"TEXT"`
	After  string `help:"Begin with the first name above this one." placeholder:"NAME"`
	Limit  int    `help:"Number of sequencers; 0 for all." default:"100"`
	gridOutput
}

func (c *sequencersCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit=%d: give 1 or more, or 0 for all", c.Limit)
	}
	return nil
}

func (c *sequencersCommand) Run(ctx context.Context, to streams) error {
	list, err := asked(ctx, c.gridFlags, c.fetch)
	if err != nil {
		return asking(err)
	}
	if err := c.result(to.out, list, func(w io.Writer) { printSequencerRows(w, list) }); err != nil {
		return err
	}
	if missing := list.Missing(); missing != "" {
		return degraded("the list is not complete: %s", missing)
	}
	return nil
}

// fetch gets as many pages as there are to list.
func (c *sequencersCommand) fetch(ctx context.Context) (list wire.SequencersResponse, err error) {
	list.Sequencers = []wire.SequencerRow{}
	in, addrs := wire.SequencersRequest{Prefix: c.Prefix, After: c.After}, c.Addr
	for {
		in.Limit = pageOf(c.Limit, len(list.Sequencers))
		var page wire.SequencersResponse
		if addrs, err = fetchPage(ctx, addrs, wire.PathSequencers, in, &page); err != nil {
			return list, err
		}
		list.Sequencers = append(list.Sequencers, page.Sequencers...)
		list.Next = page.Next
		list.Add(page.Coverage)
		if in.After = page.Next; page.Next == "" || c.Limit > 0 && len(list.Sequencers) >= c.Limit {
			return list, nil
		}
	}
}

// pageOf returns the limit of the next request of a list, of which some rows are there; a limit of 0
// is none.
func pageOf(limit, rows int) int {
	if limit == 0 {
		return wire.MaxPage
	}
	return min(wire.MaxPage, limit-rows)
}

// fetchPage fetches a page of a list from the first member that answers, and returns its address, for
// the next page.
func fetchPage[Page any](ctx context.Context, addrs []string, path string, in any, page *Page) ([]string, error) {
	addr, err := eachUntilAnswered(ctx, addrs, func(ctx context.Context, addr string) error {
		*page = *new(Page)
		return postTo(ctx, addr, "", path, in, page)
	})
	return []string{addr}, err
}

// nameWidth is the width of a column with sequencer names.
const nameWidth = 24

func printSequencerRows(w io.Writer, list wire.SequencersResponse) {
	if len(list.Sequencers) == 0 && list.Missing() == "" {
		fmt.Fprintln(w, "no sequencers")
		return
	}
	fmt.Fprint(w, "SEQUENCER\tATTACHED\tNODES\tIDS/S\tLAYOUT\tENDS\tOWNER\n")
	for _, s := range list.Sequencers {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%v\t%s\t%s\n", short(shown(s.Name), nameWidth), s.Attached,
			sequencer.NodeRange(s.NodeRange).Count(s.Nodes), perSecond(s.Recent), s.Layout,
			s.Exhausted.UTC().Format(time.DateOnly), called(s.OwnerName, s.Owner))
	}
	if list.Next != "" {
		fmt.Fprintf(w, "\nthere are more: --after %q\n", list.Next)
	}
}
