// Command client uses a grid that runs elsewhere. Its arguments are the API
// addresses of members, such as 127.0.0.1:7948 for
//
//	snowgrid agent --expect 1 --data-dir ./data
//
// If SNOWGRID_SECURITY_DIR names a directory of snowgrid secure issue, its certificate is used.
// Without arguments it starts a member of its own and uses that.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addrs []string) error {
	if len(addrs) == 0 {
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
		addrs = []string{member.Addrs().API}
	}

	cfg := client.Config{Addrs: addrs}
	if dir := os.Getenv("SNOWGRID_SECURITY_DIR"); dir != "" {
		cfg.Security = &security.Config{Dir: dir}
	}
	c, err := client.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close() // after Leave it does nothing

	// Few nodes: each has 65,536 IDs in a millisecond.
	events, err := c.CreateSequencer(ctx, "events", sequencer.Config{Nodes: 128})
	if err != nil {
		return err
	}
	ids := make([]sequencer.ID, 1_000_000)
	began := time.Now()
	if _, err := events.Fill(ctx, ids); err != nil {
		return err
	}
	fmt.Printf("%d IDs in %v, from %d to %d\n", len(ids), time.Since(began).Round(time.Millisecond), ids[0],
		ids[len(ids)-1])

	// A name has one definition. Asking for another is an error that says so,
	// wherever in the grid the name was created.
	_, err = c.CreateSequencer(ctx, "events", sequencer.Config{Nodes: 128, Epoch: epoch.Twitter})
	if !errors.Is(err, sequencer.ErrConflict) {
		return fmt.Errorf("expected a conflict, got %w", err)
	}
	fmt.Println("with another epoch:", err)

	return c.Leave(ctx)
}
