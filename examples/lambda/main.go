// Command lambda is a function of a platform that freezes its process between requests,
// such as AWS Lambda. It reads requests from its standard input, one per line: how many
// IDs to answer with.
//
//	$ echo 2 | go run ./examples/lambda
//	236093964170559488 236093964170559489
//
// A frozen process does not renew its logical node, so that another process may take it.
// That is safe: a grant ends at a timestamp, and a process that resumes issues nothing
// from a grant whose time is over. Resume at the start of each request renews the node,
// or takes another one, before the first ID is needed.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	startFor   = 10 * time.Second // a cold start
	requestFor = 5 * time.Second
	idsMax     = 1000
)

// function is the state that a process keeps between its requests.
type function struct {
	client *store.Client
	ids    *sequencer.Sequencer
}

// start runs once per process. A function on a platform uses S3 in place of a directory.
func start(ctx context.Context, dir string, window time.Duration) (*function, error) {
	s, err := store.OpenFile(dir)
	if err != nil {
		return nil, err
	}
	c, err := store.Open(ctx, s, store.Config{Window: window})
	if err != nil {
		return nil, err
	}
	ids, err := c.CreateSequencer(ctx, "requests", sequencer.Config{})
	if err != nil {
		_ = c.Close() // The error before counts.
		return nil, err
	}
	return &function{c, ids}, nil
}

// handle answers one request. With the library of AWS, main ends with
// lambda.Start(f.handle).
func (f *function) handle(ctx context.Context, n int) ([]sequencer.ID, error) {
	if n < 1 || n > idsMax {
		return nil, fmt.Errorf("%d IDs requested; request 1 to %d", n, idsMax)
	}
	if err := f.client.Resume(ctx); err != nil {
		return nil, err
	}
	ids := make([]sequencer.ID, n)
	for i := range ids {
		var err error
		if ids[i], err = f.ids.Next(ctx); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func main() {
	dir := flag.String("dir", "ids", "the directory of the store")
	window := flag.Duration("window", 15*time.Second, "how long a grant lasts")
	flag.Parse()
	if err := run(*dir, *window, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run answers requests until their end.
func run(dir string, window time.Duration, requests io.Reader, answers io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), startFor)
	defer cancel()
	f, err := start(ctx, dir, window)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(requests); lines.Scan(); {
		if err := f.answer(lines.Text(), answers); err != nil {
			return err
		}
	}
	end, cancel := context.WithTimeout(context.Background(), requestFor)
	defer cancel()
	return f.client.Leave(end)
}

// answer writes the answer to one request.
func (f *function) answer(line string, answers io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestFor)
	defer cancel()
	n, err := strconv.Atoi(strings.TrimSpace(line))
	var ids []sequencer.ID
	if err == nil {
		ids, err = f.handle(ctx, n)
	}
	if err != nil {
		_, err = fmt.Fprintf(answers, "error: %v\n", err)
		return err
	}
	_, err = fmt.Fprintln(answers, strings.Trim(fmt.Sprint(ids), "[]"))
	return err
}
