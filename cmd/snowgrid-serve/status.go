package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/sequencer"
)

type statusCommand struct {
	Name string `arg:"" optional:"" help:"Sequencer; all by default."`
	storeFlags
	Output string `short:"o" help:"Output format: text or json." enum:"text,json" default:"text"`
}

func (s *statusCommand) Run(ctx context.Context, to streams) error {
	if err := s.checkTimeout(); err != nil {
		return err
	}
	s.reads = true
	return s.within(ctx, nil, func(ctx context.Context, o opened) error {
		all, err := readStore(ctx, o.Store, s.Name, momentsAt(time.Now(), s.window()))
		if err != nil {
			return err
		}
		if s.Name != "" && len(all) == 0 {
			return fmt.Errorf("sequencer %q: %w", s.Name, sequencer.ErrNotFound)
		}
		if s.Output == "json" {
			enc := json.NewEncoder(to.out)
			enc.SetIndent("", "  ")
			return enc.Encode(all)
		}
		fmt.Fprintf(to.out, "store %s\n", o.name)
		if len(all) == 0 {
			fmt.Fprint(to.out, "\nno sequencers\n")
		}
		return printSequencers(to.out, all)
	})
}

func printSequencers(w io.Writer, all []sequencerRecords) error {
	for _, q := range all {
		fmt.Fprintf(w, "\nsequencer %s", q.Name)
		if q.State != "" {
			fmt.Fprintf(w, ": %s, epoch %s, until %s, %d nodes, layout %v, %d in use", q.State,
				q.Epoch.Format(time.RFC3339), q.Ends.Format(time.DateOnly), q.NodeRange.Count(q.Nodes), q.Layout, q.Slots)
		}
		fmt.Fprintln(w)
		if q.Trouble != "" {
			fmt.Fprintf(w, "trouble: %s\n", q.Trouble)
		}
		if err := printRecords(w, q.Records); err != nil {
			return err
		}
	}
	return nil
}

func printRecords(w io.Writer, records []nodeRecord) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "NODE\tSTATE\tVERSION\tTASK\tFROM\tUNTIL\tBOUND\tLAST USED\tTROUBLE\n")
	for i := 0; i < len(records); i++ {
		r, nodes := records[i], strconv.Itoa(int(records[i].Node))
		for r.unused() && i+1 < len(records) && records[i+1].unused() {
			i++
			nodes = fmt.Sprintf("%d-%d", r.Node, records[i].Node)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", nodes, r.State, r.Version, dash(r.Task),
			moment(r.From), moment(r.Until), moment(r.Bound), moment(r.LastUsed), dash(r.Trouble))
	}
	return table.Flush()
}

// unused reports whether a record was never held; such ones are printed as a range.
func (r nodeRecord) unused() bool {
	return r.State == "free" && r.Version == 0 && r.Bound.IsZero() && r.Trouble == ""
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// dash returns a text that came from the store so that it stays in its place: quoted if it
// has other characters than visible ones, "-" if it is empty.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	if quoted := spelling.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
