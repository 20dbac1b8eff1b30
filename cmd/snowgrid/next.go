package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/sequencer"
)

// fillSize is the number of IDs per Fill call: large enough to hide the call's cost, small enough that
// Ctrl-C takes effect within milliseconds.
const fillSize = 4096

type nextCommand struct {
	Name  string `arg:"" help:"Name of the sequencer. It is created if it does not exist."`
	Count int64  `short:"n" name:"count" help:"Number of IDs." default:"1"`
	gridFlags
	definitionflags.New
	outputFlag
}

func (n *nextCommand) Validate() error {
	if n.Count < 1 {
		return fmt.Errorf("-n %d: give at least 1", n.Count)
	}
	return nil
}

// filler is the sequencer method that printIDs needs.
type filler interface {
	Fill(ctx context.Context, dst []sequencer.ID) (int, error)
}

// impatient limits the wait for IDs: for the first one by its context, and from then on by a time in
// which none came.
type impatient struct {
	filler
	first context.Context // ends when the first ID is late
	limit time.Duration
	began bool
}

func (f *impatient) Fill(ctx context.Context, dst []sequencer.ID) (int, error) {
	deadline, _ := f.first.Deadline()
	if f.began {
		deadline = time.Now().Add(f.limit)
	}
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	n, err := f.filler.Fill(limited, dst)
	f.began = f.began || n > 0
	if n > 0 && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // it continues
	}
	return n, err
}

// Run prints the IDs. Cancellation of ctx is not an error.
func (n *nextCommand) Run(ctx context.Context, to streams) error {
	if _, err := sequencer.Define(n.Name, n.Config()); err != nil {
		return usage(err)
	}
	first, cancel := context.WithTimeout(ctx, n.Timeout) // of the first ID, and all that it takes
	defer cancel()
	answered := notice(to.err, noticeAfter, fmt.Sprintf("snowgrid: no logical node of sequencer %q yet from %s; "+
		"waiting at most %v (--timeout)", n.Name, strings.Join(n.Addr, ", "), n.Timeout))
	defer answered()
	return n.use(first, func(c *client.Client) error {
		var seq *sequencer.Sequencer
		err := n.ask(first, func(ctx context.Context) (err error) {
			var created bool
			seq, created, err = n.take(ctx, c)
			if answered(); created {
				fmt.Fprintf(to.err, "snowgrid: created sequencer %v\n", seq.Definition())
			}
			return err
		})
		if err != nil {
			return err
		}
		printed, err := printIDs(ctx, n.writer(to.out), &impatient{filler: seq, first: first, limit: n.Timeout}, n.Count)
		switch {
		case readerGone(err):
			return nil
		case err != nil && ctx.Err() != nil:
			fmt.Fprintf(to.err, "snowgrid: stopped after %d of %d IDs\n", printed, n.Count)
			return nil
		}
		return err
	})
}

// noticeAfter is the time that next waits before it prints that it waits.
const noticeAfter = 2 * time.Second

// notice writes a line to w after a time, unless the function that it returns is called before. It writes nothing
// after that.
func notice(w io.Writer, after time.Duration, line string) (cancel func()) {
	cancelled, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(after):
			fmt.Fprintln(w, line)
		case <-cancelled:
		}
	}()
	return sync.OnceFunc(func() {
		close(cancelled)
		<-ended
	})
}

// take returns a handle with a logical node, and whether the sequencer was created for it: a
// name with a typing error is one for good.
func (n *nextCommand) take(ctx context.Context, c *client.Client) (seq *sequencer.Sequencer, created bool, err error) {
	_, err = c.OpenSequencer(ctx, n.Name)
	isNew := errors.Is(err, sequencer.ErrNotFound)
	if err != nil && !isNew {
		return nil, false, err
	}
	if seq, err = c.CreateSequencer(ctx, n.Name, n.Config()); err == nil && !isNew {
		err = seq.AttachLogicalNode(ctx)
	}
	return seq, isNew && seq != nil, err
}

// idWriter writes IDs in one format.
type idWriter struct {
	*bufio.Writer
	begin, between, end string // before the first ID, between two, and after the last
	quote               string // around each ID
}

// writer returns the writer of the chosen format: one ID per line, or one JSON object,
// {"sequencer":"orders","ids":["1","2"]}, in which IDs are strings since JavaScript cannot
// represent them as numbers.
func (n *nextCommand) writer(w io.Writer) idWriter {
	out := idWriter{Writer: bufio.NewWriterSize(w, 1<<16), between: "\n", end: "\n"}
	if n.json() {
		name, _ := json.Marshal(n.Name) // a string always has a form in JSON
		out.begin, out.between, out.end, out.quote = fmt.Sprintf(`{"sequencer":%s,"ids":[`, name), ",", "]}\n", `"`
	}
	return out
}

// printIDs writes count IDs and returns the number written. All of them are complete, and
// so is the JSON object, unless w returned the error.
func printIDs(ctx context.Context, w idWriter, seq filler, count int64) (printed int64, err error) {
	ids := make([]sequencer.ID, min(count, fillSize))
	line := make([]byte, 0, 24)
	separator := w.begin
	for printed < count && err == nil {
		if err = ctx.Err(); err != nil {
			break
		}
		var filled int
		filled, err = seq.Fill(ctx, ids[:min(count-printed, fillSize)])
		for _, id := range ids[:filled] {
			line = append(append(line[:0], separator...), w.quote...)
			line = append(strconv.AppendInt(line, int64(id), 10), w.quote...)
			if _, writeErr := w.Write(line); writeErr != nil {
				return printed, writeErr
			}
			separator = w.between
			printed++
		}
	}
	ending := w.end
	if printed == 0 {
		ending = w.begin + strings.TrimPrefix(w.end, "\n")
	}
	_, writeErr := w.WriteString(ending)
	return printed, errors.Join(err, writeErr, w.Flush())
}
