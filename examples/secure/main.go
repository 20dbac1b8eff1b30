// Command secure is a grid whose callers prove who they are: a member, a client that may
// use some sequencers, and a look at what happens to everything else.
//
// The program makes the certificates itself. A real grid has them from
//
//	snowgrid secure init --out security
//	snowgrid secure issue --dir security --role member --for m1 --out m1
//	snowgrid secure issue --dir security --role holder --names 'orders-*' --for web --out web
//
// and each process gets its own directory. The security.Config of a member and of a client
// is the same as here. A member that listens beyond loopback does not start without one.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
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
	all, web := filepath.Join(dir, "security"), filepath.Join(dir, "web")
	if err := issue(all, web, time.Now()); err != nil {
		return err
	}

	member, err := grid.Start(ctx, grid.Config{
		GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0",
		Expect: 1, DataDir: filepath.Join(dir, "data"),
		Security: &security.Config{Dir: all},
	})
	if err != nil {
		return err
	}
	defer member.Close()

	c, err := client.Dial(ctx, client.Config{Addrs: []string{member.Addrs().API}, Security: &security.Config{Dir: web}})
	if err != nil {
		return err
	}
	defer c.Close() // after Leave it does nothing
	orders, err := c.CreateSequencer(ctx, "orders-eu", sequencer.Config{})
	if err != nil {
		return err
	}
	id, err := orders.Next(ctx)
	if err != nil {
		return err
	}
	fmt.Println("the holder of orders-* numbered an order:", id)

	// Its certificate is for no other name, and a holder destroys nothing.
	_, err = c.CreateSequencer(ctx, "bills", sequencer.Config{})
	if !errors.Is(err, security.ErrDenied) {
		return fmt.Errorf("bills: expected a denial, got %w", err)
	}
	fmt.Println("bills:", err)
	err = c.DestroySequencer(ctx, "orders-eu")
	if !errors.Is(err, security.ErrDenied) {
		return fmt.Errorf("destroy: expected a denial, got %w", err)
	}
	fmt.Println("destroy:", err)

	return c.Leave(ctx)
}

// issue makes an authority with certificates of every role in one directory, and one with a
// client's alone.
func issue(all, web string, now time.Time) error {
	if err := authority.Create(all, authority.Options{}, now); err != nil {
		return err
	}
	a, err := authority.Open(all)
	if err != nil {
		return err
	}
	return a.Issue(authority.Request{Name: "web", Role: security.Holder, Names: []security.Pattern{"orders-*"}}, web, now)
}
