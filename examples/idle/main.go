// Command idle shares few logical nodes among more processes than there are
// nodes. Each gives its node back when it has not needed it for a while, and its
// next call of Next takes one again, or waits until one is free.
//
// The processes are clients inside this one, which also runs the grid.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	nodes     = 128 // the fewest that a sequencer can have
	processes = nodes + 22
	idle      = 500 * time.Millisecond
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "snowgrid")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	member, err := grid.Start(ctx, grid.Config{
		GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
		Expect: 1, DataDir: dir,
	})
	if err != nil {
		return err
	}
	defer member.Close()

	var handles []*sequencer.Sequencer
	without := 0
	for range processes {
		c, err := client.Dial(ctx, client.Config{Addrs: []string{member.Addrs().API}})
		if err != nil {
			return err
		}
		defer c.Close()
		// With every node taken there is a handle all the same, Detached.
		handle, err := c.CreateSequencer(ctx, "reports", sequencer.Config{Nodes: nodes})
		if errors.Is(err, sequencer.ErrNoFreeNode) {
			without++
		} else if err != nil {
			return err
		}
		handles = append(handles, handle)
	}
	fmt.Printf("%d processes share %d nodes; %d have none yet\n", processes, nodes, without)

	// From now on no process keeps a node that it does not use.
	began := time.Now()
	errs := make([]error, processes)
	ids := make([]sequencer.ID, processes)
	var calls sync.WaitGroup
	for i, handle := range handles {
		handle.DetachWhenIdle(idle)
		calls.Go(func() { ids[i], errs[i] = handle.Next(ctx) })
	}
	calls.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	distinct := map[sequencer.ID]bool{}
	for _, id := range ids {
		distinct[id] = true
	}
	fmt.Printf("after %v each has its ID, %d different ones\n", time.Since(began).Round(100*time.Millisecond),
		len(distinct))
	return nil
}
