//go:build linux

// Command holder is a client for the chaos proof. It takes IDs of one sequencer as
// a steady load and detaches and attaches it now and then; it comes as a new client
// for some of them again and again; and it creates, opens,
// attaches, detaches and destroys sequencers with names that change with time, which
// it shares with its neighbours. All of it goes to a history file.
//
// After SIGTERM it takes IDs once more, with patience, and ends: with status 0 if
// it got them.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/security"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "holder:", err)
		os.Exit(1)
	}
}

func run() error {
	addrs := flag.String("addrs", "", "API addresses of the members")
	file := flag.String("history", "", "file to write")
	seed := flag.Uint64("seed", 1, "seed of the holder's choices")
	load := flag.String("load", "load", "name to take IDs of all the time")
	share := flag.String("share", "share", "prefix of the names shared with neighbours")
	batch := flag.Int("batch", 1024, "largest batch of IDs")
	every := flag.Duration("every", 40*time.Millisecond, "pause between batches")
	life := flag.Duration("life", 8*time.Second, "how long a shared name is used")
	patience := flag.Duration("patience", 2*time.Minute, "how long the last batch may take")
	credentials := flag.String("security-dir", "", "directory with certificates; empty: clear text")
	repeat := flag.Bool("repeat-an-id", false, "note one ID twice: shows that the checker sees it")
	flag.Parse()

	out, err := os.OpenFile(*file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config := client.Config{Addrs: strings.Split(*addrs, ",")}
	if *credentials != "" { // it destroys names, too
		config.Security = &security.Config{Dir: *credentials, Role: security.Admin}
	}
	c, err := client.Dial(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println("dialed") // from here on SIGTERM means to end with a last batch
	h := &holder{client: c, to: history.NewWriter(out, history.Now), handles: new(atomic.Int64), repeat: *repeat}
	l := &loader{holder: h, name: *load, batch: *batch, every: *every, rng: rand.New(rand.NewPCG(*seed, 1))}
	s := &sharer{holder: h, prefix: *share, life: *life, rng: rand.New(rand.NewPCG(*seed, 2))}
	v := &visitor{holder: h, config: config, name: *load, rng: rand.New(rand.NewPCG(*seed, 3))}
	var all sync.WaitGroup
	all.Go(func() { l.work(ctx) })
	all.Go(func() { s.work(ctx) })
	all.Go(func() { v.work(ctx) })
	all.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), *patience)
	defer cancel()
	return l.final(last)
}
