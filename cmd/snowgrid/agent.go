package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"

	"github.com/snowgrid/snowgrid/cmd/snowgrid/internal/logring"
	"github.com/snowgrid/snowgrid/grid"
)

type agentCommand struct {
	fileFlag
	agentFlags
}

func (agentCommand) Help() string {
	return `The agent runs until SIGTERM or Ctrl-C, then hands its partitions over and leaves the grid. A second signal
terminates it immediately. SIGHUP reads the configuration again: the log level, certificates and keys change, all else
needs a restart. Changed files of certificates and keys are noticed without it, within 10 seconds.
The log is written to stderr; stdout gets one line when the member is ready.

A grid of one member, for development:

    snowgrid agent --expect 1 --data-dir ./data

A grid of three members; run the same on each host, with its own addresses. Beyond one machine a member needs
certificates, or --insecure; see snowgrid secure --help:

    snowgrid agent --security-dir /etc/snowgrid/security \
        --gossip-addr 10.0.0.1:7946 --raft-addr 10.0.0.1:7947 \
        --api-addr 10.0.0.1:7948 --expect 3 --data-dir /var/lib/snowgrid \
        --join 10.0.0.1:7946,10.0.0.2:7946,10.0.0.3:7946

The same flags can be in a file, as key: value; see snowgrid config reference:

    snowgrid agent --config /etc/snowgrid/snowgrid.yaml

A new grid whose IDs begin above the largest ID in your database. --floor never makes a grid begin earlier,
so it can remain in the configuration:

    snowgrid agent --expect 1 --data-dir ./data --floor 7301444403200000 \
        --epoch 2026-01-01

A grid without data directories begins each run with a wait of the window and 5 s, so that its IDs are
above those of an earlier run. This is not enough, and IDs can repeat, if the earlier run had a larger
window, or if its clocks were ahead of the present ones within the last hours (see "ahead" in snowgrid
status). The first start with --data-dir detects no earlier run without it either. In these
cases stop every process of the earlier run first, or set --floor. A copied data directory, and a process
that was copied while it ran (a machine snapshot, CRIU), issue the same IDs as the original.`
}

// Run serves until ctx ends, then leaves.
func (a *agentCommand) Run(ctx context.Context, parsed *kong.Context, args arguments, from *sources, to streams) error {
	ring := logring.New(logKept)
	logger, level := a.logger(streams{out: to.out, err: io.MultiWriter(ring, to.err)})
	cfg, err := a.config(logger)
	if err != nil {
		return from.place(err)
	}
	for _, warning := range a.modeWarnings() {
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
	// Leaving takes a while, and the service manager has to see signs of life until its end.
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
