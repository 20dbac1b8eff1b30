package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/logring"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/bounded"
)

type agentCommand struct {
	fileFlag
	agentFlags
}

// endLimit bounds the end after the time limit for leaving; a service manager kills the process 5 s after that.
const endLimit = 3 * time.Second

// Run serves until ctx ends, then leaves.
func (a *agentCommand) Run(ctx context.Context, parsed *kong.Context, args arguments, from *sources, to streams) error {
	return bounded.End(ctx, a.LeaveTimeout+endLimit, func() error { return a.serve(ctx, parsed, args, from, to) })
}

// serve is Run without a time limit for its end.
func (a *agentCommand) serve(ctx context.Context, parsed *kong.Context, args arguments, from *sources,
	to streams) error {
	ring := logring.New(logKept)
	logger, level := a.logger(streams{out: to.out, err: io.MultiWriter(ring, to.err)})
	cfg, err := a.config(logger)
	if err = errors.Join(err, a.checkUse(from)); err == nil {
		err = a.makeDir()
	}
	if err != nil {
		return from.place(err)
	}
	warnings, _ := a.checkModes() // a refused file was an error in the configuration
	for _, warning := range warnings {
		logger.WarnContext(ctx, "private key is not private", "advice", warning)
	}
	limitMemory(ctx, logger, memlimit.FromCgroup)
	for _, note := range from.notes {
		logger.InfoContext(ctx, "key without effect", "file", from.path, "key", note.Key, "reason", note.Reason)
	}
	for _, t := range typosIn(os.Environ(), parsed.Model) {
		logger.WarnContext(ctx, "environment variable without effect", "variable", t.variable, "did_you_mean", t.meant)
	}
	manager := &serviceManager{logger: logger}
	reloads := newReloader(args, valuesOf(parsed, from), level, logger)
	reloads.run(ctx, manager)
	ops, err := a.startOps(logger, &debugPages{log: ring, settings: settingsOf(parsed, from)}, a.APIAddr)
	if err != nil {
		return &exitError{status: exitFailed, err: from.place(err)}
	}
	defer ops.close()
	logger.InfoContext(ctx, "member starting", "stated_name", cfg.Name, "data_dir", cfg.DataDir)
	logger.InfoContext(ctx, "waiting for the grid", "for", a.waitsFor(), "expect", cfg.Expect, "join", cfg.Join)
	manager.status("waiting for " + a.waitsFor())
	member, err := grid.Start(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			logger.InfoContext(context.WithoutCancel(ctx), "start cancelled", "error", err)
			return nil
		}
		return &exitError{status: exitFailed, err: from.place(err)}
	}
	ops.serves(member)
	reloads.serves(member)
	addrs := member.Addrs()
	fmt.Fprintf(to.out, "serving grid %s: api %s, gossip %s, raft %s\n", member.Status().Name, addrs.API, addrs.Gossip,
		addrs.Raft)
	manager.ready("serving grid " + member.Status().Name + ", API " + addrs.API)
	// Leaving takes a while, and the service manager has to see keep-alives until its end.
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { manager.watch(watched, func() { member.Status() }) })
	defer watching.Wait()
	defer stop()
	select {
	case <-ctx.Done():
	case <-member.Done():
		manager.stopping("member ended by API request")
		logger.InfoContext(ctx, "member ended by API request")
		return nil
	case <-member.Dismissed(): // it leaves already, and this waits for its end
	}
	manager.stopping("leaving the grid")
	return a.leave(context.WithoutCancel(ctx), member, logger)
}

// leave leaves the grid, or closes the member abruptly after the time limit.
func (a *agentCommand) leave(ctx context.Context, member *grid.Member, logger *slog.Logger) error {
	logger.InfoContext(ctx, "member leaving", "timeout", a.LeaveTimeout)
	ctx, cancel := context.WithTimeout(ctx, a.LeaveTimeout)
	defer cancel()
	go reportLeaving(ctx, member.Status, logger)
	if err := member.Leave(ctx); err != nil {
		_ = member.Close()
		return fmt.Errorf("the member ended without leaving the grid cleanly; the other members take over its partitions: %w",
			err)
	}
	logger.InfoContext(ctx, "member left")
	return nil
}

// waitsFor describes the condition for this member to become ready.
func (a *agentCommand) waitsFor() string {
	switch {
	case a.Expect > 1:
		return "the expected number of members, or a running grid"
	case len(a.Join) > 0:
		return "a running grid at the join addresses"
	}
	return "no other member"
}
