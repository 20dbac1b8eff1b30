// Command holder is a client under load: it takes IDs of its sequencers until its standard
// input ends, and writes each one to a file. It is built with this release and, from the
// same source, with the one before.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/sequencer"
)

// patience is how long one call may take before it counts as failed.
const patience = 20 * time.Second

var (
	addrs = flag.String("addrs", "", "API addresses of members, separated by commas")
	names = flag.String("names", "", "names of the sequencers, separated by commas")
	dir   = flag.String("dir", "", "directory for a file of IDs per name")
	every = flag.Duration("every", 10*time.Millisecond, "pause between two batches")
	batch = flag.Int("batch", 10, "IDs in a batch, each by a call of Next")
	grant = flag.Bool("grants", false, "take grants over HTTP, as a process in another language does")
	visit = flag.String("visit", "", "prefix of names that are created, used and destroyed over and over; none if empty")
)

func main() {
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := run(ctx); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// run runs until ctx ends, or an operation fails.
func run(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := client.Dial(dialing, client.Config{Addrs: addresses()})
	if err != nil {
		return err
	}
	var (
		group  sync.WaitGroup
		counts counts
		faults = make(chan error, 1+len(*names))
		serves sync.WaitGroup
	)
	for _, name := range strings.Split(*names, ",") {
		serves.Add(1)
		group.Go(func() {
			if *grant {
				faults <- newGenerators(addresses()).generate(ctx, name, &counts, serves.Done)
			} else {
				faults <- hold(ctx, c, name, &counts, serves.Done)
			}
		})
	}
	if *visit != "" {
		group.Go(func() { faults <- visits(ctx, c, &counts) })
	}
	go func() {
		serves.Wait()
		fmt.Println("serves")
	}()
	go func() {
		group.Wait()
		close(faults)
	}()
	for err := range faults {
		if err != nil {
			return err
		}
	}
	fmt.Printf("done: %d IDs, slowest Next %v, %d visits\n", counts.ids.Load(), time.Duration(counts.slowest.Load()),
		counts.visits.Load())
	closing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.Leave(closing)
}

// counts are those of the process.
type counts struct{ ids, slowest, visits atomic.Int64 }

// took records how long a call of Next took.
func (c *counts) took(d time.Duration) {
	for {
		most := c.slowest.Load()
		if int64(d) <= most || c.slowest.CompareAndSwap(most, int64(d)) {
			return
		}
	}
}

// hold takes IDs of one sequencer until ctx ends, and calls serves after the first ones.
func hold(ctx context.Context, c *client.Client, name string, counts *counts, serves func()) error {
	creating, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := c.CreateSequencer(creating, name, sequencer.Config{})
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return issue(ctx, name, serves, func() (sequencer.ID, error) { return next(s, counts) })
}

// issue writes batches of IDs to the file of a name until ctx ends, and calls serves after the first one.
func issue(ctx context.Context, name string, serves func(), next func() (sequencer.ID, error)) error {
	file, err := os.Create(filepath.Join(*dir, name+".ids"))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for first := true; ctx.Err() == nil; first = false {
		for range *batch {
			id, err := next()
			if err != nil {
				return fmt.Errorf("next of %s: %w", name, err)
			}
			if _, err := out.Write(binary.BigEndian.AppendUint64(nil, uint64(id))); err != nil {
				return err
			}
		}
		if first {
			serves()
		}
		time.Sleep(*every)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func next(s *sequencer.Sequencer, counts *counts) (sequencer.ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	id, err := s.Next(ctx)
	counts.took(time.Since(began))
	counts.ids.Add(1)
	return id, err
}

// visits creates, uses and destroys names until ctx ends: calls that change the tables of
// partitions and the disks of their replicas.
func visits(ctx context.Context, c *client.Client, counts *counts) error {
	for n := 0; ctx.Err() == nil; n++ {
		if err := visitOnce(c, fmt.Sprintf("%s-%d", *visit, n%50), counts); err != nil {
			return err
		}
		counts.visits.Add(1)
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func visitOnce(c *client.Client, name string, counts *counts) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := c.CreateSequencer(ctx, name, sequencer.Config{})
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if _, err := next(s, counts); err != nil {
		return fmt.Errorf("next of %s: %w", name, err)
	}
	if err := s.DetachLogicalNode(ctx); err != nil {
		return fmt.Errorf("detach of %s: %w", name, err)
	}
	if err := s.AttachLogicalNode(ctx); err != nil {
		return fmt.Errorf("attach of %s: %w", name, err)
	}
	if err := s.Destroy(ctx); err != nil {
		return fmt.Errorf("destroy of %s: %w", name, err)
	}
	return nil
}
