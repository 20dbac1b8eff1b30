package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/verify"
)

var problemTitles = map[verify.Kind]string{
	verify.Duplicate: "duplicate", verify.NotAnID: "no ID", verify.Foreign: "foreign", verify.Early: "too early",
	verify.Future: "in the future", verify.Overfull: "overfull millisecond", verify.Backwards: "time going back",
	verify.SharedNode: "node of several hosts",
}

// problems counts a report's problems: "1 duplicate, 2 in the future".
func problems(r *verify.Report) string {
	var parts []string
	for _, k := range r.Kinds() {
		parts = append(parts, grouped(r.Problems[k])+" "+problemTitles[k])
	}
	return strings.Join(parts, ", ")
}

func printReport(w io.Writer, cfg verify.Config, r *verify.Report) error {
	err := aligned(w, func(w io.Writer) {
		fmt.Fprintf(w, "format\t%v\n", cfg.Format)
		fmt.Fprintf(w, "rows\t%s, of which %s are IDs\n", grouped(r.Rows), grouped(r.IDs))
		if r.Header != "" {
			fmt.Fprintf(w, "header\t%s\n", short(shown(r.Header), 60))
		}
		if r.IDs > 0 && r.Last.Line > 0 {
			fmt.Fprintf(w, "first\t%s, ID %v in line %d\n", r.First.Time.Format(millisecondLayout), r.First.ID, r.First.Line)
			fmt.Fprintf(w, "last\t%s, ID %v in line %d\n", r.Last.Time.Format(millisecondLayout), r.Last.ID, r.Last.Line)
		}
		fmt.Fprintf(w, "nodes\t%d\n", r.Nodes)
		for _, n := range r.Rare {
			fmt.Fprintf(w, "rare node\t%d, in %s rows from line %d on; far fewer than others\n", n.Node, grouped(n.Rows),
				n.Line)
		}
		if r.Hosts > 0 {
			fmt.Fprintf(w, "hosts\t%d\n", r.Hosts)
		}
		if !r.Ordered {
			fmt.Fprint(w, "order\tthe rows are not in the order of their making, so steps back in time are not checked\n")
		}
		if r.Clean() {
			fmt.Fprint(w, "problems\tnone\n")
		}
	})
	if err != nil {
		return err
	}
	for _, k := range r.Kinds() {
		found := r.Of(k)
		fmt.Fprintf(w, "\n%s: %s\n", problemTitles[k], grouped(r.Problems[k]))
		for _, f := range found {
			fmt.Fprintf(w, "    line %d: %s\n", f.Line, describeFinding(cfg, f))
		}
		if k == verify.NotAnID && len(found) > 0 && strings.Contains(found[0].Text, ",") {
			fmt.Fprintln(w, "    if the rows have columns, give --id-column")
		}
		if n := r.Problems[k] - uint64(len(found)); n > 0 {
			fmt.Fprintf(w, "    and %s more; --show prints more lines\n", grouped(n))
		}
	}
	return nil
}

func describeFinding(cfg verify.Config, f verify.Finding) string {
	if f.Text != "" {
		if f.Kind == verify.Early {
			return f.Text + " is negative, before the epoch"
		}
		return f.Text + " is not a decimal number below 2^63"
	}
	parts := cfg.Format.Decompose(f.ID)
	at := parts.Time.Format(millisecondLayout)
	id := fmt.Sprintf("%v of %s, node %d, counter %d", f.ID, at, parts.Node, parts.Counter)
	switch f.Kind {
	case verify.Duplicate:
		return fmt.Sprintf("%s is in line %d, too", id, f.With)
	case verify.Overfull:
		return fmt.Sprintf("%s is row %d of that node and time, which have %d IDs", id, f.Count,
			uint64(1)<<cfg.Format.CounterBits)
	case verify.Backwards:
		return fmt.Sprintf("%s is %v before the node's row in line %d", id, f.Back, f.With)
	case verify.SharedNode:
		return fmt.Sprintf("%s: the node has IDs of %s (line %d)", id, strings.Join(f.Hosts, ", "), f.With)
	case verify.Foreign:
		if !cfg.Format.Fits(f.ID) {
			return fmt.Sprintf("%v has more bits than the format", f.ID)
		}
		return fmt.Sprintf("%s is of a node outside %d to %d", id, cfg.Nodes.Lo, cfg.Nodes.Hi)
	}
	return id
}

// progressEvery is the interval between reports of progress: shorter on a terminal, where a line is overwritten.
const (
	progressLive  = time.Second
	progressEvery = 10 * time.Second
)

// showProgress prints the progress of a check until the returned function is called.
func showProgress(out io.Writer, p *verify.Progress, size uint64) (stop func()) {
	live, every := isTerminal(out), progressEvery
	if live {
		every = progressLive
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				if live {
					fmt.Fprint(out, clearLine)
				}
				return
			case <-ticker.C:
			}
			if live {
				fmt.Fprint(out, clearLine+progressLine(p, size))
			} else {
				fmt.Fprintln(out, progressLine(p, size))
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

func progressLine(p *verify.Progress, size uint64) string {
	rows := p.Rows.Load()
	if p.Merging.Load() {
		return fmt.Sprintf("%s of %s rows compared", grouped(p.Merged.Load()), grouped(rows))
	}
	if size == 0 {
		return grouped(rows) + " rows read"
	}
	return fmt.Sprintf("%s rows read, %d %%", grouped(rows), min(100, 100*p.Bytes.Load()/size))
}
