// Command holder issues IDs over a store, as a process that a test can kill and stop. It
// prints its logical node whenever it has another one, errors, and when it continues after one, and
// writes the IDs to a history file.
//
// After SIGTERM it takes IDs once more, with patience, returns its node, and ends: with
// status 0 if it got them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/proof/chaos/history"
	"github.com/snowgrid/snowgrid/sequencer"
)

func main() {
	if err := run(); err != nil {
		fmt.Println("ended:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	store, name, history, task      string
	window, clock, every, call      time.Duration
	patience, acquire, create, skew time.Duration
	pool, batch, detach             int
	next                            bool
}

func parse() (s settings) {
	flag.StringVar(&s.store, "store", "",
		"s3://host:port/bucket/prefix, etcd://host:port/prefix, mixed://host:port/prefix, postgres://..., or file:directory")
	flag.StringVar(&s.name, "name", "default", "name of the sequencer")
	flag.StringVar(&s.history, "history", "", "file to write; none if empty")
	flag.StringVar(&s.task, "task", "", "task of the records")
	flag.DurationVar(&s.window, "window", 0, "store.Config.Window")
	flag.DurationVar(&s.clock, "clock", 0, "how far the wall clock is ahead")
	flag.DurationVar(&s.every, "every", 5*time.Millisecond, "pause between batches")
	flag.DurationVar(&s.call, "call", 0, "store.Config.CallTimeout")
	flag.DurationVar(&s.acquire, "acquire", time.Second, "store.Config.AcquireMaxDelay")
	flag.DurationVar(&s.create, "create", 10*time.Second, "how long one try to get a logical node takes")
	flag.DurationVar(&s.skew, "skew", 0, "store.Config.MaxSkew")
	flag.DurationVar(&s.patience, "patience", time.Minute, "how long the last batch may take")
	flag.IntVar(&s.pool, "pool", 0, "store.Config.Pool")
	flag.IntVar(&s.batch, "batch", 1024, "IDs in a batch")
	flag.IntVar(&s.detach, "detach", 0, "detach and attach again after one batch in this many; 0 = never")
	flag.BoolVar(&s.next, "next", false, "take each ID of a batch by Next instead of Fill")
	flag.Parse()
	return s
}

func run() error {
	s := parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	h := &holder{settings: s}
	if s.history != "" {
		out, err := os.OpenFile(s.history, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
		h.to = history.NewWriter(out, history.Now)
	}
	c, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := h.attach(ctx, c); err != nil {
		return err
	}
	h.work(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	for h.step(last) != nil && last.Err() == nil {
		time.Sleep(50 * time.Millisecond) // also the pause of a handle that refuses without waiting
	}
	if last.Err() != nil {
		return fmt.Errorf("no IDs within %v after SIGTERM", s.patience)
	}
	fmt.Println("final")
	return c.Leave(last)
}

// holder takes IDs and records them.
type holder struct {
	settings
	to      *history.Writer // nil: no history
	on      *sequencer.Sequencer
	node    sequencer.NodeID
	some    bool // node is set
	failing bool // the last batch failed
}

// open opens the store, and tries again while it is away.
func (h *holder) open(ctx context.Context) (*store.Client, error) {
	s, err := openStore(h.store)
	if err != nil {
		return nil, err
	}
	for {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		c, err := store.Open(try, s, store.Config{
			Pool: h.pool, Window: h.window, CallTimeout: h.call, AcquireMaxDelay: h.acquire, Task: h.task, MaxSkew: h.skew,
			Clock:  func() time.Time { return time.Now().Add(h.clock) },
			Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		cancel()
		if err == nil || errors.Is(err, sequencer.ErrInvalidConfig) || ctx.Err() != nil {
			return c, err
		}
		fmt.Println("waiting:", err)
	}
}

// attach waits for a logical node.
func (h *holder) attach(ctx context.Context, c *store.Client) error {
	for {
		try, cancel := context.WithTimeout(ctx, h.create)
		on, err := c.CreateSequencer(try, h.name, sequencer.Config{})
		cancel()
		if on != nil {
			h.on = on
		}
		if err == nil {
			h.attached()
			return nil
		}
		if ctx.Err() != nil || errors.Is(err, sequencer.ErrInvalidConfig) {
			return err
		}
		fmt.Println("waiting:", err)
	}
}

// attached prints the logical node if it is another one than before.
func (h *holder) attached() {
	if node, ok := h.on.LogicalNode(); ok && (node != h.node || !h.some) {
		h.node, h.some = node, true
		fmt.Println("attached", node)
	}
}

// progress prints when the holder gets no IDs and why, and when it gets them again.
func (h *holder) progress(ctx context.Context, err error) {
	switch {
	case err == nil && h.failing:
		h.failing = false
		fmt.Println("continues")
	case err != nil && !h.failing && ctx.Err() == nil:
		h.failing = true
		fmt.Println("error:", err)
	}
}

// work takes batches until ctx ends.
func (h *holder) work(ctx context.Context) {
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := h.step(try)
		if h.detach > 0 && rand.N(h.detach) == 0 && err == nil {
			err = errors.Join(h.on.DetachLogicalNode(try), h.on.AttachLogicalNode(try))
		}
		h.progress(ctx, err)
		cancel()
		h.attached()
		if err != nil || h.every > 0 {
			time.Sleep(max(h.every, time.Millisecond)) // the load, not a wait for an event
		}
	}
}

// step takes one batch, after it attached a logical node if the handle has none.
func (h *holder) step(ctx context.Context) error {
	err := h.take(ctx)
	if errors.Is(err, sequencer.ErrDetached) {
		if err = h.on.AttachLogicalNode(ctx); err == nil || errors.Is(err, sequencer.ErrAttached) {
			err = h.take(ctx)
		}
	}
	return err
}

// take takes one batch and records it before it returns.
func (h *holder) take(ctx context.Context) (err error) {
	ids := make([]sequencer.ID, h.batch)
	n := 0
	var op uint64
	if h.to != nil {
		if op, err = h.to.Call(history.Fill, h.name, 1); err != nil {
			panic(err) // IDs that are not recorded prove nothing
		}
	}
	if h.next {
		for n < len(ids) && err == nil {
			if ids[n], err = h.on.Next(ctx); err == nil {
				n++
			}
		}
	} else {
		n, err = h.on.Fill(ctx, ids)
	}
	if h.to == nil {
		return err
	}
	outcome := history.OK
	if err != nil {
		outcome = history.Unknown
	}
	var runs []history.Run
	for _, id := range ids[:n] {
		runs = history.AppendRuns(runs, int64(id))
	}
	if err := h.to.Return(op, outcome, -1, runs); err != nil {
		panic(err)
	}
	return err
}
